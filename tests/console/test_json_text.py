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


@pytest.mark.parametrize(
    ("text", "half", "column"),
    [
        (r'{"a": "\ud83d"}', r"\ud83d", 8),
        (r'{"\uD83D": 1}', r"\uD83D", 3),
        (r'{"a": "x\udc00y"}', r"\udc00", 9),
        (r'{"a": "\ud83d\u0041"}', r"\ud83d", 8),
        (r'{"a": "\\\ud83d\ude00\ud83d"}', r"\ud83d", 22),
        ('{"a": "\ud800"}', r"\ud800", 8),
        (r'{"a": "\ud83d", "b": {"c": 1}}', r"\ud83d", 8),
    ],
)
def test_half_a_character_is_told_as_such_and_where_it_stands(text: str, half: str, column: int) -> None:
    fault = fault_in(text)

    assert str(fault) == f"{half} is half of a character, and its other half is missing: line 1, column {column}."


@pytest.mark.parametrize("text", [r'{"a": "\ud83d\uDE00"}', r'{"a": "\\ud83d"}', '{"a": "\U0001f600"}'])
def test_a_whole_pair_and_what_only_looks_like_half_of_one_are_taken(text: str) -> None:
    assert fault_in(text) is None


def test_a_text_that_ends_too_early_is_told_so_though_it_holds_escapes() -> None:
    assert str(fault_in(r'{"a": "\ud83d\ude00')).startswith("The JSON ends too early")


def test_the_arrow_of_an_excerpt_stands_under_the_fault_also_behind_escapes() -> None:
    fault = fault_in('{"a": "\u202e\u202e", b}')

    assert fault is not None
    line, arrow = fault.excerpt.split("\n")
    assert line[arrow.index("^")] == "b"
