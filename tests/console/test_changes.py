from leaseforge_console.views.changes import MAX_COMPARED, MAX_ROWS, changes


def told(old: str, new: str) -> list[str]:
    return [f"{row.sign}{row.text}" for row in changes(old, new).rows]


def test_a_changed_line_stands_between_its_neighbours() -> None:
    old = "\n".join(f"line {number}" for number in range(20))

    rows = told(old, old.replace("line 9", "line nine"))

    assert rows[0] == "6 more lines as before"
    assert rows[3:6] == [" line 8", "\N{MINUS SIGN}line 9", "+line nine"]
    assert rows[-1] == "7 more lines as before"


def test_nothing_changed_is_nothing_to_show() -> None:
    found = changes("a\nb", "a\nb")

    assert (found.rows, found.added, found.removed) == ((), 0, 0)


def test_a_repeated_line_is_added_once() -> None:
    found = changes("{\n}", "{\n{\n}\n}")

    assert (found.added, found.removed) == (2, 0)


def test_very_much_is_cut_and_says_so() -> None:
    old = "\n".join(f"a{number}" for number in range(MAX_COMPARED))
    new = "\n".join(f"b{number}" for number in range(MAX_COMPARED))

    found = changes(old, new)

    assert (found.added, found.removed) == (MAX_COMPARED, MAX_COMPARED)
    assert len(found.rows) == MAX_ROWS
    assert found.left_out == 2 * MAX_COMPARED - MAX_ROWS
    assert len(changes("x" * 1_000_000, "y" * 1_000_000).rows[0].text) < 3_000
