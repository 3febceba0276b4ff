"""From claims to people and roles: addresses, groups, and what userinfo may add."""

from collections.abc import Mapping
from typing import Any

import pytest

from leaseforge.settings import read
from leaseforge_auth.accounts import USERNAME
from leaseforge_auth.oidc.errors import SsoDenied
from leaseforge_auth.oidc.people import Person, groups_at, lacks, person_of, roles_of, together
from leaseforge_auth.oidc.settings import OidcSettings
from leaseforge_auth.roles import Role

ISSUER = "https://login.example.com"
VERIFIED = {"sub": "1", "email": "ada@example.com", "email_verified": True}


def settings(**oidc: str) -> OidcSettings:
    own = {"ISSUER": ISSUER, "CLIENT_ID": "leaseforge"} | oidc
    return read(OidcSettings, {f"LEASEFORGE_OIDC_{name}": value for name, value in own.items()})


def person(email: str = "ada@example.com", *groups: str, subject: str = "1") -> Person:
    return Person(ISSUER, subject, email, frozenset(groups))


@pytest.mark.parametrize(
    ("email", "roles"),
    [
        ("ada@example.com", (Role.ADMIN,)),
        ("ADA@Example.COM", (Role.ADMIN,)),
        ("grace@example.com", (Role.OPERATOR,)),
        ("both@example.com", (Role.ADMIN, Role.OPERATOR)),
        ("bada@example.com", ()),
        ("ada@example.com.evil.example", ()),
        ("ada@example.co", ()),
        ("example.com", ()),
        ("ad\u0430@example.com", ()),
        ("\u212aay@example.com", ()),
        ("stra\u00dfe@example.com", (Role.OPERATOR,)),
        ("strasse@example.com", ()),
    ],
)
def test_addresses_are_compared_whole_and_without_case(email: str, roles: tuple[Role, ...]) -> None:
    lists = settings(
        ADMIN_EMAILS="Ada@example.com, both@example.com,kay@example.com",
        OPERATOR_EMAILS="grace@example.com,both@example.com\nstra\u00dfe@example.com",
    )

    assert roles_of(person(email), lists) == roles


@pytest.mark.parametrize(
    ("groups", "roles"),
    [
        (["ops"], (Role.OPERATOR,)),
        (["Ops"], ()),
        (["ops-old", "xops"], ()),
        (["cn=admins,dc=example"], (Role.ADMIN,)),
        ([], ()),
    ],
)
def test_groups_are_compared_exactly(groups: list[str], roles: tuple[Role, ...]) -> None:
    lists = settings(OPERATOR_GROUPS="ops", ADMIN_GROUPS='["cn=admins,dc=example"]')

    assert roles_of(person("x@example.com", *groups), lists) == roles


def test_whoever_is_on_no_list_gets_the_default_role_or_none() -> None:
    assert roles_of(person(), settings()) == ()
    assert roles_of(person(), settings(DEFAULT_ROLE="viewer")) == (Role.VIEWER,)
    assert roles_of(person(), settings(DEFAULT_ROLE="viewer", ADMIN_EMAILS="ada@example.com")) == (Role.ADMIN,)


@pytest.mark.parametrize(
    ("claims", "path", "groups"),
    [
        ({"groups": ["a", "b"]}, "groups", {"a", "b"}),
        ({"groups": "a"}, "groups", {"a"}),
        ({"groups": "a,b"}, "groups", {"a,b"}),
        ({"groups": ["a", 1, None, ["b"]]}, "groups", {"a"}),
        ({"groups": {"a": True}}, "groups", set()),
        ({"groups": None}, "groups", set()),
        ({}, "groups", set()),
        ({"realm_access": {"roles": ["a"]}}, "realm_access.roles", {"a"}),
        ({"realm_access": ["roles"]}, "realm_access.roles", set()),
        ({"https://example.com/groups": ["a"]}, "https://example.com/groups", {"a"}),
        ({"a.b": ["whole"], "a": {"b": ["nested"]}}, "a.b", {"whole"}),
    ],
)
def test_a_groups_claim_is_a_text_a_list_or_nested(claims: Mapping[str, Any], path: str, groups: set[str]) -> None:
    assert groups_at(claims, path) == groups


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({}, "no_email"),
        ({"email": ""}, "no_email"),
        ({"email": ["ada@example.com"], "email_verified": True}, "no_email"),
        ({"email": "ada", "email_verified": True}, "no_email"),
        ({"email": "a\n@example.com", "email_verified": True}, "no_email"),
        ({"email": "a" * 260 + "@example.com", "email_verified": True}, "no_email"),
        ({"email": "ada@example.com"}, "email_not_verified"),
        ({"email": "ada@example.com", "email_verified": False}, "email_not_verified"),
        ({"email": "ada@example.com", "email_verified": "false"}, "email_not_verified"),
        ({"email": "ada@example.com", "email_verified": 2}, "email_not_verified"),
    ],
)
def test_an_address_has_to_be_there_and_verified(claims: dict[str, Any], cause: str) -> None:
    with pytest.raises(SsoDenied) as refused:
        person_of({"sub": "1"} | claims, settings())

    assert refused.value.cause == cause


@pytest.mark.parametrize("flag", [True, "true"])
def test_a_verified_address_may_be_said_in_two_ways(flag: object) -> None:
    assert person_of(VERIFIED | {"email_verified": flag}, settings()).email == "ada@example.com"


def test_unverified_addresses_can_be_trusted() -> None:
    assert person_of({"sub": "1", "email": "ada@example.com"}, settings(TRUST_EMAIL="on")).email == "ada@example.com"


def test_userinfo_is_asked_only_for_what_is_missing() -> None:
    assert not lacks(VERIFIED, settings())
    assert lacks({"sub": "1"}, settings())
    assert lacks({"sub": "1", "email": "ada@example.com"}, settings())
    assert not lacks({"sub": "1", "email": "ada@example.com"}, settings(TRUST_EMAIL="on"))
    assert lacks(VERIFIED, settings(ADMIN_GROUPS="a"))
    assert not lacks(VERIFIED | {"groups": []}, settings(ADMIN_GROUPS="a"))


def test_userinfo_of_somebody_else_is_refused() -> None:
    for other in ({"sub": "2"}, {}, {"sub": None}):
        with pytest.raises(SsoDenied) as refused:
            together({"sub": "1"}, other, settings())

        assert refused.value.cause == "userinfo_subject"


def test_verified_belongs_to_the_address_it_stands_beside() -> None:
    theirs = {"sub": "1", "email": "other@example.com", "email_verified": True}

    kept = together({"sub": "1", "email": "ada@example.com"}, theirs, settings())
    same = together({"sub": "1", "email": "other@example.com"}, theirs, settings())
    taken = together({"sub": "1", "email_verified": True}, theirs | {"email_verified": False}, settings())

    assert "email_verified" not in kept
    assert same["email_verified"] is True
    assert taken["email"] == "other@example.com"
    assert taken["email_verified"] is False


def test_the_id_token_wins_over_userinfo_but_for_what_it_lacks() -> None:
    merged = together(
        VERIFIED | {"name": "Ada"},
        {"sub": "1", "name": "X", "realm": {"groups": ["a"]}},
        settings(GROUPS_CLAIM="realm.groups"),
    )

    assert merged["name"] == "Ada"
    assert groups_at(merged, "realm.groups") == {"a"}


@pytest.mark.parametrize(
    "email",
    [
        "ada@example.com",
        "_x@example.com",
        "\u00e4\u00f6@example.com",
        "'or 1=1'@example.com",
        "a" * 200 + "@x.y",
        "@@@",
    ],
)
def test_accounts_get_proper_names(email: str) -> None:
    first, spare = person(email).usernames

    assert USERNAME.fullmatch(first)
    assert USERNAME.fullmatch(spare)
    assert first != spare


def test_people_are_told_apart_by_issuer_and_subject() -> None:
    digests = {
        Person(issuer, subject, "ada@example.com", frozenset()).digest
        for issuer, subject in (("a", "b"), ("a", "c"), ("ab", ""), ("", "ab"), ("d", "b"))
    }

    assert len(digests) == 5
