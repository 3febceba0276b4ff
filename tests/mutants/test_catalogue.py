"""The catalogue keeps up with the code: `make mutants` then only has to run it."""

from pathlib import Path

import pytest

from tests.mutants.catalogue import ALL
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutated", ALL, ids=lambda mutated: mutated.name)
def test_a_mutant_s_code_and_tests_are_there(mutated: Mutant) -> None:
    for edit in mutated.edits:
        text = (ROOT / "engine" / "leaseforge" / edit.file).read_text("utf-8")
        assert text.count(edit.old) == 1, f"{edit.file}: {edit.old}"
        assert edit.new != edit.old
    for test in mutated.tests:
        assert (ROOT / test).is_file()


def test_names_are_different() -> None:
    names = [mutated.name for mutated in ALL]

    assert len(names) == len(set(names)) >= 24
