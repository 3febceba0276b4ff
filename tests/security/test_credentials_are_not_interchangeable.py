"""A credential for one purpose is worth nothing for another: session, access token, API token, one-time values."""

from tests.security.conftest import PASSWORD, Serve


def test_every_credential_opens_its_own_door_only(serve: Serve) -> None:
    server = serve()
    admin = server.login()
    access = admin["Authorization"].removeprefix("Bearer ")
    with server.client() as client:
        api = client.post("/api/tokens", json={"name": "t", "role": "admin"}, headers=admin).json()["token"]
        page = client.post(
            "/console/login",
            data={"username": "admin", "password": PASSWORD},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        session = page.headers["set-cookie"].partition(";")[0].partition("=")[2]
        client.cookies.clear()
        overview = client.get("/console", headers={"Cookie": f"leaseforge={session}"})
        assert overview.status_code == 200
        form_token = overview.text.partition('name="_csrf" value="')[2].partition('"')[0]
        assert len(form_token) == 64

        for bearer in (session, form_token, f"lf_{session}"):
            answer = client.get("/api/auth/me", headers={"Authorization": f"Bearer {bearer}"})
            assert answer.status_code == 401
        for cookie in (access, api, form_token):
            answer = client.get("/console", headers={"Cookie": f"leaseforge={cookie}"})
            assert answer.status_code in (302, 303)
        for code in (access, api, session, form_token):
            answer = client.post("/api/auth/oidc/exchange", json={"code": code})
            assert answer.status_code >= 400
            answer = client.get("/api/auth/oidc/callback", params={"code": code, "state": code})
            assert answer.status_code >= 400
        assert client.get(f"/api/auth/me?access_token={access}").status_code == 401
        assert client.get("/api/auth/me", headers={"Cookie": f"leaseforge={session}"}).status_code == 401
