import json

import pytest

from leaseforge_console.json_text import compact, fault_in, pretty, restored, with_markers, without_new_secrets

TEXT = '{"a": 1.50, "big": 1e400, "list": [1, {}, []], "user": {"password": "x"}, "tokens": [1, 2], "max_tokens": 400}'


def test_layout_changes_and_digits_do_not() -> None:
    assert compact(pretty(TEXT)) == compact(TEXT)
    assert '"a": 1.50,' in pretty(TEXT)
    assert pretty('{"a":{}}') == '{\n  "a": {}\n}'
    assert pretty("17") == "17"


def test_what_cannot_be_seen_is_written_as_an_escape_of_the_same_value() -> None:
    text = json.dumps({"a\u202e": "b\u200b"}, ensure_ascii=False)

    assert "\u202e" not in pretty(text)
    assert json.loads(pretty(text)) == json.loads(text)


def test_secrets_come_back_to_where_their_markers_stand() -> None:
    marked, values = with_markers(TEXT)

    assert values == ('"x"', "[1, 2]")
    assert '"tokens": "•••••• 2"' in marked
    assert restored(marked, values) == (TEXT, None)
    assert restored('{"secret": {"x": ["•••••• 1"]}}', values) == ('{"secret": {"x": ["x"]}}', None)


@pytest.mark.parametrize(
    "text",
    [
        '{"note": "•••••• 1"}',  # it would be there for all to read
        '["•••••• 1"]',
        '"•••••• 1"',
        '{"max_tokens": "•••••• 1", "password": "•••••• 3"}',
        '{"password": "••••••"}',
        '{"password": "Bearer •••••• 1"}',
        '{"password": "•••••• 0"}',
        '{"user": {"name": "•••••• 2"}}',
    ],
)
def test_a_marker_counts_only_where_its_value_is_masked_again(text: str) -> None:
    whole, fault = restored(text, ('"x"', "[1, 2]"))

    assert whole == ""
    assert fault is not None


def test_a_text_of_the_payload_is_never_taken_for_a_marker() -> None:
    text = '{"note": "•••••• 1", "password": "x"}'
    marked, values = with_markers(text)

    whole, fault = restored(marked, values)

    assert fault is None
    assert json.loads(whole) == json.loads(text)


def test_new_secrets_are_not_shown_in_a_change() -> None:
    shown = without_new_secrets('{"password": "typed", "token": "•••••• 1", "card": {"cvv": 123}}')

    assert json.loads(shown) == {"password": "•••••• new", "token": "•••••• 1", "card": {"cvv": "•••••• new"}}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1,\n "b" 2}', 2, 6),
        ('{"ä": [1,}', 1, 10),
        ("", 1, 1),
        ("[1, 2", 1, 6),
        ("{'a': 1}", 1, 2),
        ('{"a": NaN}', 1, 7),
        ("[" * 65 + "]" * 65, 1, 1),
        ("[" * 100_000, 1, 1),
        ('{"a": "\ud800"}', 1, 8),
    ],
)
def test_a_fault_has_its_place(text: str, line: int, column: int) -> None:
    fault = fault_in(text)

    assert fault is not None
    assert (fault.line, fault.column) == (line, column)
    assert fault.excerpt.splitlines()[-1].endswith("^")


def test_the_arrow_of_an_excerpt_stands_under_the_fault_also_behind_escapes() -> None:
    fault = fault_in('{"a": "\u202e\u202e", b}')

    assert fault is not None
    line, arrow = fault.excerpt.split("\n")
    assert line[arrow.index("^")] == "b"
