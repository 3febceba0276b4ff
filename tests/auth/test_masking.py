"""What of a payload may be shown."""

import base64

import msgspec
import pytest

from leaseforge_auth.masking import MASK, shown


def test_json_without_secrets_is_passed_on_byte_for_byte() -> None:
    content = b'{ "amount" : 1.10, "text": "\\u00e9", "big": 12345678901234567890 }'

    assert shown(content).json == content
    assert not shown(content).is_masked


@pytest.mark.parametrize(
    "name",
    ["password", "PASSWD", "db_password", "client-secret", "apiKey", "X-Api-Key", "access_token", "Authorization",
     "session_id", "card_number", "cvv", "private_key", "dsn", "PIN"],
)  # fmt: skip
def test_values_under_secret_looking_names_are_masked(name: str) -> None:
    content = msgspec.json.encode({"to": "ada", "deep": [{"list": [{name: "hunter2"}]}]})

    result = shown(content)

    assert result.is_masked
    assert result.json is not None
    assert b"hunter2" not in result.json
    assert msgspec.json.decode(result.json)["deep"][0]["list"][0][name] == MASK


def test_whole_objects_under_a_secret_looking_name_are_masked() -> None:
    result = shown(b'{"credentials": {"user": "ada", "value": "hunter2"}}')

    assert result.json == b'{"credentials":"[masked]"}'


@pytest.mark.parametrize("content", [b'{"max_tokens": 400}', b'{"password": null}', b'{"token": ""}', b'{"pinned": 1}'])
def test_what_only_looks_like_a_secret_stays(content: bytes) -> None:
    assert shown(content).json == content


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.shop.order+json"]
)
def test_json_is_masked_by_whatever_name_its_producer_calls_it(content_type: str) -> None:
    result = shown(b'{"password": "hunter2"}', content_type)

    assert (result.json, result.base64, result.is_masked) == (b'{"password":"[masked]"}', None, True)


def test_bytes_that_are_no_json_are_shown_as_base64() -> None:
    for content, content_type in ((b"\x00\xff", "application/octet-stream"), (b"{broken", "application/json")):
        assert shown(content, content_type).base64 == base64.b64encode(content).decode()
        assert shown(content, content_type).json is None


def test_json_that_is_not_utf8_is_no_json() -> None:
    assert shown(b'"\xff"').json is None


def test_what_is_too_deep_to_search_for_secrets_is_not_shown() -> None:
    result = shown(b"[" * 100_000 + b"]" * 100_000)

    assert (result.json, result.base64, result.is_masked) == (None, None, True)


@pytest.mark.parametrize(
    "content",
    [
        b'{"password": "hunter2", "password": ""}',
        b'{"deep": [{"db": {"password": "hunter2"}, "db": 1}]}',
        b'{"password": {"old": "hunter2"}, "password": null}',
    ],
)
def test_of_a_name_that_stands_twice_only_what_was_looked_at_is_shown(content: bytes) -> None:
    result = shown(content)

    assert result.is_masked
    assert result.json is not None
    assert b"hunter2" not in result.json


@pytest.mark.parametrize(
    "content",
    [
        b'{"password": "hunter2", "n": 1e400}',
        b'{"password": "hunter2", "n": ' + b"9" * 10_000 + b"}",
        b'{"password": "hunter2", "half": "\\ud800"}',
        '{"password": "hunter2"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"password": "hunter2"}',
        b'{"password": "hunter2", "n": 1e400, "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["beyond-all-numbers", "very-long-number", "half-a-character", "utf-16", "byte-order-mark", "too-deep"],
)
def test_json_only_others_can_read_is_not_shown(content: bytes) -> None:
    result = shown(content)

    assert result.is_masked
    assert result.json is None
    assert result.base64 is None


def test_nothing_is_shown_of_nothing() -> None:
    assert shown(None).json is None
