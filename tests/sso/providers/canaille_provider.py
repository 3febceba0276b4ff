"""Canaille as a program: `python canaille_provider.py PORT CALLBACK`. Says `listening` once it answers.

Its issuer is http://localhost:PORT; people, groups and the client are made here.
"""

import os
import sys
import uuid
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from canaille import create_app
from canaille.backends import Backend
from canaille.backends.memory.backend import MemoryBackend
from joserfc.jwk import JWKRegistry
from pytest_iam import Server

CLIENT_ID = "leaseforge"
CLIENT_SECRET = "a-secret-between-two-programs-of-some-length"
PASSWORD = "correct horse"
# Name and groups of each person; their address is NAME@example.com.
PEOPLE = {"ada": ["operators"], "grace": ["admins"], "norbert": []}


def configuration(port: int) -> dict[str, Any]:
    key = JWKRegistry.generate_key("RSA", 2048)
    key.ensure_kid()
    return {
        "TESTING": True,
        "ENV_FILE": None,
        "SECRET_KEY": str(uuid.uuid4()),
        "WTF_CSRF_ENABLED": False,
        "PREFERRED_URL_SCHEME": "http",
        "SERVER_NAME": f"localhost:{port}",
        "CANAILLE": {
            "DATABASE": "memory",
            "ENABLE_REGISTRATION": False,
            "JAVASCRIPT": False,
            "ACL": {"DEFAULT": {"PERMISSIONS": ["use_oidc", "manage_oidc"]}},
            "LOGGING": {"version": 1, "root": {"level": "WARNING"}},
        },
        "CANAILLE_OIDC": {"DYNAMIC_CLIENT_REGISTRATION_OPEN": False, "ACTIVE_JWKS": [key.as_dict(private=True)]},
    }


def furnish(server: Server, callback: str) -> None:
    models, backend = server.models, server.backend
    client = models.Client(
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        client_name="Leaseforge",
        contacts=["ops@example.com"],
        redirect_uris=[callback],
        scope=["openid", "email", "profile", "groups"],
        grant_types=["authorization_code"],
        response_types=["code"],
        token_endpoint_auth_method="client_secret_basic",
        id_token_signed_response_alg="RS256",
    )
    backend.save(client)
    client.audience = [client]
    backend.save(client)
    people = {
        name: server.random_user(user_name=name, emails=[f"{name}@example.com"], password=PASSWORD) for name in PEOPLE
    }
    for group in sorted({group for groups in PEOPLE.values() for group in groups}):
        members = [people[name] for name, groups in PEOPLE.items() if group in groups]
        server.random_group(display_name=group, members=members)


def look_for_all_conditions() -> None:
    """Canaille's store in memory finds what fits any condition of a query, not all: codes would be mixed up."""
    find_any = MemoryBackend.do_query

    def find_all(self: Any, model: Any, *args: Any, **wanted: Any) -> list[Any]:
        fitting = [{found.id for found in find_any(self, model, **{name: value})} for name, value in wanted.items()]
        return [found for found in find_any(self, model, *args, **wanted) if all(found.id in ids for ids in fitting)]

    MemoryBackend.do_query = find_all


def main() -> None:
    port, callback = int(sys.argv[1]), sys.argv[2]
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    os.chdir(Path(mkdtemp()))
    look_for_all_conditions()
    app = create_app(config=configuration(port))
    server = Server(app, port, Backend.instance)
    with app.app_context():
        furnish(server, callback)
    print("listening", flush=True)
    server.httpd.serve_forever()


if __name__ == "__main__":
    main()
