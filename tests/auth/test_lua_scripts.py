"""The scripts of accounts and sessions: their headers match the calls, and a full Redis does not lock anybody out."""

from typing import Any

import pytest
import redis

from leaseforge.calls import Call
from leaseforge.store import Store
from leaseforge_auth import calls, saved_views, session_calls
from leaseforge_auth.api_tokens import TokenKind, _create, _list, _read, _revoke
from leaseforge_auth.audit import calls as audit
from leaseforge_auth.audit.chain import Head
from leaseforge_auth.audit.entries import Step
from leaseforge_auth.oidc import calls as oidc
from leaseforge_auth.oidc.people import Person
from leaseforge_auth.oidc.returning import Target
from leaseforge_auth.roles import Role
from leaseforge_auth.throttle import LoginThrottle, _places

CALLS: list[Call[Any]] = [
    calls.read_account("ada"),
    calls.count_accounts(),
    calls.declare_account("ada", password_hash="x", roles=[Role.VIEWER]),
    calls.read_token("ada", "jti"),
    calls.spend_token("jti", ttl_ms=1000),
    calls.create_account("ada", password_hash="x", roles=[Role.VIEWER], origin="api"),
    calls.change_account("ada", disabled=True),
    calls.delete_account("ada"),
    calls.list_accounts(offset=0, count=1),
    calls.account_info("ada"),
    calls.note_login("ada"),
    saved_views.read_views("ada"),
    saved_views.keep_view("ada", saved_views.SavedView("0", "jobs", "mine", "queue=mail")),
    saved_views.change_name("ada", "0", "ours"),
    saved_views.drop_view("ada", "0"),
    session_calls.open_session("id", username="ada", epoch=1, idle_ms=1000),
    session_calls.read_session("id", idle_ms=1000, absolute_ms=1000, extend=True),
    session_calls.close_session("id"),
    session_calls.sessions_standing(["id", "another"], absolute_ms=1000),
    session_calls.list_sessions("ada"),
    session_calls.revoke_session("ada", "0123456789abcdef"),
    audit.read_state(),
    audit.append(Head(), Head(1, "mac", "seal"), [audit.Linked(b"{}", "mac", "kid", "action", Step.INTENT)]),
    audit.trim(Head(1, "mac", "seal")),
    audit.read_back(),
    oidc.begin("state", "browser", oidc.Begun("nonce", "verifier", Target("/console", True)), address="203.0.113.7"),
    oidc.take("state", "browser"),
    oidc.sign_in(Person("https://issuer", "subject", "ada@example.com", frozenset()), [Role.VIEWER]),
    oidc.store_code("code", calls.Account("ada", "", (), 1, origin="oidc", is_disabled=False)),
    oidc.spend_code("code"),
    _read("0123456789abcdef", "digest"),
    _create("id", digest="x", name="n", kind=TokenKind.SERVICE, owner="ada", roles=[], permissions=[], ttl_ms=1000),
    _list(None, offset=0, count=1),
    _revoke("id", owner=""),
]


def test_every_script_has_a_call_here() -> None:
    throttle = {"login_attempt", "login_success"}

    assert {call.script.name for call in CALLS} | throttle == set(calls.SCRIPTS.names())


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.script.name)
def test_calls_name_keys_and_arguments_as_the_header_does(call: Call[Any]) -> None:
    assert tuple(name for name, _ in call.keys) == call.script.header.keys
    assert tuple(name for name, _ in call.args) == call.script.header.args


async def test_the_throttle_names_keys_and_arguments_as_the_headers_do(store: Store) -> None:
    attempt = LoginThrottle(store)._attempt("ada", "203.0.113.7")

    assert tuple(name for name, _ in attempt.keys) == attempt.script.header.keys
    assert tuple(name for name, _ in attempt.args) == attempt.script.header.args
    assert tuple(name for name, _ in _places("a", "b")) == calls.SCRIPTS.load("login_success").header.keys


@pytest.mark.parametrize("name", calls.SCRIPTS.names())
def test_scripts_run_on_a_full_redis(name: str) -> None:
    assert calls.SCRIPTS.load(name).header.flags in ("allow-oom", "no-writes")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.script.name)
async def test_every_script_answers_when_there_is_no_memory_left(call: Call[Any], store: Store, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("maxmemory", 1)
        try:
            await store.run(call)
            await LoginThrottle(store).charge("ada", "203.0.113.7")
            await LoginThrottle(store).succeeded("ada", "203.0.113.7")
        finally:
            client.config_set("maxmemory", 0)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.script.name)
def test_all_keys_share_one_slot_and_name_the_guard(call: Call[Any]) -> None:
    assert call.keys[0] == ("guard", "lf:{sys}:guard")
    assert all(key.startswith("lf:{sys}:") for _, key in call.keys)
