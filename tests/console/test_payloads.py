import pytest

from leaseforge_console.payloads import MASK, MAX_CHARS, MAX_LINES, show, visible

JSON = "application/json"


def test_json_is_laid_out_and_numbers_kept_digit_for_digit() -> None:
    shown = show(b'{"price":49.90,"id":12345678901234567890123,"e":1E400,"ok":true,"none":null,"few":[1,2]}', JSON)

    assert shown.text.splitlines() == [
        "{",
        '  "price": 49.90,',
        '  "id": 12345678901234567890123,',
        '  "e": 1E400,',
        '  "ok": true,',
        '  "none": null,',
        '  "few": [1, 2]',
        "}",
    ]
    assert shown.note is None


@pytest.mark.parametrize(
    "content",
    [
        b'{"password": "hunter2"}',
        b'{"outer": {"api_key": "hunter2", "other": 1}}',
        b'[{"Authorization": "Bearer hunter2"}]',
        b'{"card_token": {"value": "hunter2", "more": ["hunter2"]}}',
        b'{"client-secret": ["hunter2"]}',
    ],
)
def test_secret_looking_values_are_masked_however_they_are_wrapped(content: bytes) -> None:
    shown = show(content, JSON)

    assert "hunter2" not in shown.text
    assert MASK in shown.text
    assert shown.masked >= 1


def test_what_only_sounds_like_a_secret_is_shown() -> None:
    shown = show(b'{"max_tokens": 400, "password": null, "has_token": true}', JSON)

    assert "400" in shown.text
    assert shown.masked == 0


def test_secrets_in_plain_text_are_masked() -> None:
    shown = show(b"user=ada&password=hunter2 and token: 'hunter2'", "text/plain")

    assert "hunter2" not in shown.text
    assert "user=ada" in shown.text


def test_broken_json_is_shown_as_text_with_its_secrets_masked() -> None:
    shown = show(b'{"password": "hunter2", "a": ', JSON)

    assert "hunter2" not in shown.text
    assert shown.note is not None


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"[" + b"1," * 500_000 + b"1]",
        b'{"a": "' + b"x" * 1_000_000 + b'"}',
        b'{"n": ' + b"9" * 500_000 + b"}",
        b"[" + b"[1]," * 200_000 + b"[1]]",
        b"a." * 400_000,
        b"password " * 100_000,
    ],
)
def test_deep_long_and_wide_content_is_cut(content: bytes) -> None:
    shown = show(content, JSON)

    assert len(shown.text) <= MAX_CHARS + MAX_LINES * 60
    assert len(shown.text.splitlines()) <= MAX_LINES + 1
    assert shown.size == len(content)


def test_bytes_are_shown_in_hex() -> None:
    shown = show(bytes(range(256)) * 4, "application/octet-stream")

    assert shown.text.splitlines()[4] == "0040  40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f  @ABCDEFGHIJKLMNO"
    assert shown.note == "binary: the first 256 bytes in hex"


def test_characters_that_hide_or_reorder_others_are_told() -> None:
    assert visible("\u202egnp.exe") == "\\u202egnp.exe"
    assert visible("a\x00\x1b[31m\u200b") == "a\\u0000\\u001b[31m\\u200b"
    assert visible("a\u00ad\U000e0041") == "a\\u00ad\\udb40\\udc41"
    assert visible("line\n\ttabbed") == "line\n\ttabbed"


def test_empty_and_scalar_json() -> None:
    assert show(b"{}", JSON).text == "{}"
    assert show(b"[]", JSON).text == "[]"
    assert show(b'"text"', JSON).text == '"text"'
    assert show(b"", "text/plain").text == ""
