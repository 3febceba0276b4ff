"""Naming queues, and whose turn it is."""

from collections import Counter
from collections.abc import Sequence

import pytest

from leaseforge_worker.queues import QueueChoice, Turns, parse_queues


def test_names_alone_mean_strict_order() -> None:
    assert parse_queues("urgent, default") == QueueChoice(("urgent", "default"))


def test_weights_are_shares() -> None:
    assert parse_queues("a=3,b=1") == QueueChoice(("a", "b"), {"a": 3, "b": 1})


def test_a_star_means_every_queue() -> None:
    assert parse_queues(" * ") == QueueChoice(every=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "queue ''"),
        ("a,", "queue ''"),
        ("a b", "queue 'a b'"),
        ("a,a", "named twice"),
        ("a=1,a=2", "named twice"),
        ("sys", "reserved"),
        ("a=3,b", "'b' has none"),
        ("a=0", "weight of 'a'"),
        ("a=1001", "weight of 'a'"),
        ("a=-1", "weight of 'a'"),
        ("a=x", "weight of 'a'"),
        ("a=", "weight of 'a'"),
        ("a=" + "9" * 400, "weight of 'a'"),
        ("*,a", "stands alone"),
        ("{a}", "queue '{a}'"),
    ],
)
def test_a_wrong_choice_is_refused_with_its_reason(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("{", r"\{")):
        parse_queues(text)


def test_strict_order_lets_a_queue_claim_only_while_those_before_it_have_nothing() -> None:
    turns = Turns(parse_queues("a,b,c"))

    assert turns.next(["c", "b"]) == "b"
    assert turns.next(["c", "a", "b"]) == "a"
    turns.taken("a")
    assert turns.next(["c", "a"]) == "a"
    assert turns.next(["c"]) == "c"
    assert turns.next([]) is None


def test_weighted_turns_follow_their_weights() -> None:
    turns = Turns(parse_queues("a=3,b=1"))
    drawn: Counter[str | None] = Counter()

    for _ in range(2000):
        turn = turns.next(["a", "b"])
        drawn[turn] += 1
        turns.taken(str(turn))

    assert 2.0 < drawn["a"] / drawn["b"] < 4.5


def test_a_drawn_queue_keeps_its_turn_until_it_has_claimed_or_has_nothing() -> None:
    draws = iter(["b", "a", "b"])
    turns = Turns(parse_queues("a=3,b=1"), draw=lambda names, weights: next(draws))

    assert [turns.next(["a", "b"]), turns.next(["a", "b"])] == ["b", "b"]
    turns.taken("b")
    assert turns.next(["a", "b"]) == "a"
    assert turns.next(["b"]) == "b"


def test_every_queue_has_an_equal_share() -> None:
    seen: list[list[int]] = []

    def draw(names: Sequence[str], weights: Sequence[int]) -> str:
        seen.append(list(weights))
        return names[0]

    Turns(QueueChoice(every=True), draw).next(["x", "y", "z"])

    assert seen == [[1, 1, 1]]
