"""Settings of single sign-on: what is wrong is told at the start, with the variable's name."""

import pytest

from leaseforge.errors import SettingsError
from leaseforge_api.settings import ServerSettings

BASE = {"LEASEFORGE_AUTH_SECRET": "a secret of more than thirty-two bytes"}
WEB = {"LEASEFORGE_WEB_URL": "https://jobs.example.com"}
ON = {"LEASEFORGE_OIDC_ISSUER": "https://login.example.com", "LEASEFORGE_OIDC_CLIENT_ID": "leaseforge"}


def oidc(**values: str) -> dict[str, str]:
    return {f"LEASEFORGE_OIDC_{name}": value for name, value in values.items()}


@pytest.mark.parametrize(
    ("environ", "variable", "words"),
    [
        (oidc(CLIENT_ID="x"), "OIDC_CLIENT_ID", "means nothing without"),
        (WEB | oidc(ISSUER="https://a.example"), "OIDC_CLIENT_ID", "is required"),
        (ON, "OIDC_REDIRECT_URL", "is required"),
        (ON | WEB | oidc(ISSUER="http://login.example.com"), "OIDC_ISSUER", "https"),
        (ON | WEB | oidc(ISSUER="login.example.com"), "OIDC_ISSUER", "issuer"),
        (ON | WEB | oidc(ISSUER="https://login.microsoftonline.com/common/v2.0"), "OIDC_ISSUER", "tenant"),
        (ON | WEB | oidc(ISSUER="https://login.microsoftonline.com/{tenantid}/v2.0"), "OIDC_ISSUER", "tenant"),
        (ON | WEB | oidc(ISSUER="https://a.example/.well-known/openid-configuration"), "OIDC_ISSUER", "before"),
        (ON | WEB | oidc(ISSUER="https://user@a.example"), "OIDC_ISSUER", "issuer"),
        (ON | WEB | oidc(REDIRECT_URL="https://jobs.example.com/callback"), "OIDC_REDIRECT_URL", "ending with"),
        (
            ON | WEB | oidc(REDIRECT_URL="https://other.example/api/auth/oidc/callback"),
            "OIDC_REDIRECT_URL",
            "begin with",
        ),
        (ON | WEB | oidc(REDIRECT_URL="http://jobs.example.com/api/auth/oidc/callback"), "OIDC_REDIRECT_URL", "https"),
        (ON | oidc(REDIRECT_URL="https://jobs.example.com/api/auth/oidc/callback"), "WEB_URL", "must be set"),
        (ON | WEB | oidc(SCOPES="email"), "OIDC_SCOPES", "openid"),
        (ON | WEB | oidc(ADMIN_EMAILS="@example.com"), "OIDC_ADMIN_EMAILS", "whole"),
        (ON | WEB | oidc(ADMIN_EMAILS="*@example.com"), "OIDC_ADMIN_EMAILS", "whole"),
        (ON | WEB | oidc(OPERATOR_EMAILS="example.com"), "OIDC_OPERATOR_EMAILS", "whole"),
        (ON | WEB | oidc(ADMIN_GROUPS='["a'), "OIDC_ADMIN_GROUPS", "JSON"),
        (ON | WEB | oidc(DEFAULT_ROLE="admin"), "OIDC_DEFAULT_ROLE", "must be none"),
        (ON | WEB | oidc(ALLOWED_ORIGINS="https://app.example.com/path"), "OIDC_ALLOWED_ORIGINS", "origins"),
        (ON | WEB | oidc(ALLOWED_ORIGINS="http://app.example.com"), "OIDC_ALLOWED_ORIGINS", "https"),
        (ON | WEB | oidc(ALLOWED_HOSTS="https://a.example"), "OIDC_ALLOWED_HOSTS", "host names"),
        (ON | WEB | oidc(TRUST_EMAIL="maybe"), "OIDC_TRUST_EMAIL", "true or false"),
        (ON | WEB | oidc(PROVIDER_NAME="x" * 41), "OIDC_PROVIDER_NAME", "40"),
        ({"LEASEFORGE_PASSWORD_LOGIN": "off"}, "PASSWORD_LOGIN", "nobody could log in"),
        ({"LEASEFORGE_BREAK_GLASS": "admin"}, "BREAK_GLASS", "unless"),
        (
            ON | WEB | {"LEASEFORGE_PASSWORD_LOGIN": "off", "LEASEFORGE_BREAK_GLASS": "a b"},
            "BREAK_GLASS",
            "must be 1 to 64",
        ),
    ],
)
def test_what_is_wrong_is_told_by_name(environ: dict[str, str], variable: str, words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        ServerSettings.read(BASE | environ)

    [problem] = [problem for problem in refused.value.problems if problem.field == f"LEASEFORGE_{variable}"]
    assert words in problem.message


def test_problems_of_all_parts_are_told_together() -> None:
    with pytest.raises(SettingsError) as refused:
        ServerSettings.read({"LEASEFORGE_API_ADDR": "x"} | oidc(ISSUER="x", DEFAULT_ROLE="king"))

    assert {problem.field for problem in refused.value.problems} == {
        "LEASEFORGE_API_ADDR",
        "LEASEFORGE_AUTH_SECRET",
        "LEASEFORGE_OIDC_ISSUER",
        "LEASEFORGE_OIDC_DEFAULT_ROLE",
    }


def test_what_follows_from_the_public_address_need_not_be_said() -> None:
    prefixed = {"LEASEFORGE_WEB_URL": "https://Jobs.example.com/jobs", "LEASEFORGE_ROOT_PATH": "/jobs"}

    found = ServerSettings.read(BASE | ON | prefixed | oidc(ALLOWED_ORIGINS="https://app.example.com/")).oidc

    assert found.redirect_url == "https://jobs.example.com/jobs/api/auth/oidc/callback"
    assert found.allowed_origins == ("https://app.example.com", "https://jobs.example.com")
    assert found.provider == "login.example.com"


def test_the_secret_is_not_shown() -> None:
    found = ServerSettings.read(BASE | ON | WEB | oidc(CLIENT_SECRET="do not tell"))

    assert found.oidc.client_secret == "do not tell"
    assert "do not tell" not in repr(found)
