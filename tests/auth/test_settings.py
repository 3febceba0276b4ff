"""Settings of accounts and sessions: what is refused at start, and with which words."""

import pytest

from leaseforge.errors import SettingsError
from leaseforge.settings import read
from leaseforge_auth.roles import Role
from leaseforge_auth.settings import AuthSettings

SECRET = "0123456789abcdef0123456789abcdef"


def settings(**environ: str) -> AuthSettings:
    return read(AuthSettings, {"LEASEFORGE_AUTH_SECRET": SECRET} | {f"LEASEFORGE_{k}": v for k, v in environ.items()})


def test_without_a_secret_nothing_starts() -> None:
    with pytest.raises(SettingsError, match="LEASEFORGE_AUTH_SECRET"):
        read(AuthSettings, {})


@pytest.mark.parametrize("secret", ["short", SECRET[:-1], f"{SECRET},short", ","])
def test_a_secret_below_32_bytes_is_refused(secret: str) -> None:
    with pytest.raises(SettingsError, match="32 bytes"):
        settings(AUTH_SECRET=secret)


def test_several_secrets_are_given_newest_first() -> None:
    assert settings(AUTH_SECRET=f"a new {SECRET}, {SECRET}\n").auth_secret == ("a new " + SECRET, SECRET)


def test_no_account_is_made_without_a_password() -> None:
    assert settings().declared_accounts == ()


def test_the_administrator_and_listed_users_are_declared() -> None:
    users = '[{"username": "ada", "roles": ["operator", "producer"], "password": "long enough"}]'

    declared = settings(ADMIN_PASSWORD="correct horse", USERS=users).declared_accounts

    assert [(account.username, account.roles) for account in declared] == [
        ("ada", (Role.OPERATOR, Role.PRODUCER)),
        ("admin", (Role.ADMIN,)),
    ]


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ("{}", "JSON list"),
        ("[", "JSON list"),
        ('[{"username": "ada"}]', "roles"),
        ('[{"username": "ada", "roles": [], "password": "long enough"}]', "roles"),
        ('[{"username": "ada", "roles": ["root"], "password": "long enough"}]', "root"),
        ('[{"username": "ada", "roles": ["viewer"], "passwort": "long enough"}]', "passwort"),
        ('[{"username": "ada", "roles": ["viewer"]}]', "user 1: needs either"),
        ('[{"username": "a b", "roles": ["viewer"], "password": "long enough"}]', "user 1: must be 1 to 64"),
        ('[{"username": "ada", "roles": ["viewer"], "password": "short"}]', "user 1: must be 8 characters"),
        ('[{"username": "ada", "roles": ["viewer"], "password_hash": "md5"}]', "argon2id"),
        ('[{"username": "admin", "roles": ["viewer"], "password": "long enough"}]', "twice"),
    ],
)
def test_wrong_users_are_refused_without_showing_passwords(users: str, message: str) -> None:
    with pytest.raises(SettingsError, match="LEASEFORGE_USERS") as refused:
        settings(USERS=users, ADMIN_PASSWORD="correct horse")

    assert message in str(refused.value)
    assert "long enough" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADMIN_PASSWORD", "short"),
        ("ADMIN_PASSWORD", "x" * 1025),
        ("ADMIN_USER", "a/b"),
        ("WEB_URL", "jobs.example.com"),
        ("WEB_URL", "http://jobs.example.com"),
        ("WEB_URL", "https://user@jobs.example.com"),
        ("WEB_URL", "https://jobs.example.com/elsewhere"),
        ("ROOT_PATH", "jobs"),
        ("ROOT_PATH", "/jobs//x"),
        ("ROOT_PATH", "/jo{bs}"),
        ("TRUSTED_PROXIES", "everyone"),
        ("AUTH_TTL", "0"),
        ("AUTH_TTL", "forever"),
    ],
)
def test_wrong_values_name_their_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"LEASEFORGE_{name}"):
        settings(**{name: value})


def test_addresses_and_prefix_are_brought_into_one_form() -> None:
    made = settings(WEB_URL="https://jobs.example.com/jobs/", ROOT_PATH="/jobs/", TRUSTED_PROXIES="10.0.0.0/8, ::1")

    assert (made.web_url, made.root_path, made.is_https) == ("https://jobs.example.com/jobs", "/jobs", True)
    assert [str(network) for network in made.trusted_proxies] == ["10.0.0.0/8", "::1/128"]
    assert settings(WEB_URL="http://localhost:8080").is_https is False


def test_secrets_do_not_show() -> None:
    users = '[{"username": "ada", "roles": ["viewer"], "password": "long enough"}]'

    text = repr(settings(ADMIN_PASSWORD="correct horse", USERS=users))

    assert SECRET not in text
    assert "correct horse" not in text
    assert "long enough" not in text
