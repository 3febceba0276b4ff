"""The page for task authors: its lines run, and its tables name what there is."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from leaseforge import Client, Context, JobState, task
from tests.support import eventually_sync

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_column(text: str) -> list[str]:
    return re.findall(r"^\| `(\w+)", text, re.MULTILINE)


def test_its_lines_run(redis_url: str) -> None:
    lines: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/tasks.md", "exec"), lines)

    tests = [name for name in lines if name.startswith("test_")]
    for name in tests:
        lines[name]()
    job_id = lines["confirm"](redis_url, lines["Order"](7, "ada@example.com"))

    assert len(tests) == 2
    assert lines["outcomes"].counts == {"good": 1, "bad": 0}
    with Client(redis_url) as client, lines["Worker"].of([lines["confirm_order"]], redis_url=redis_url, queues="*"):
        eventually_sync(lambda: client.job(job_id).state is JobState.COMPLETED)


@pytest.mark.parametrize("option", [name for name in inspect.signature(task).parameters if name != "function"])
def test_every_option_of_a_task_is_explained(option: str) -> None:
    assert option in first_column(section("Options"))


def test_every_member_of_the_context_is_explained_and_no_other() -> None:
    assert set(first_column(section("Context"))) == {name for name in vars(Context) if not name.startswith("_")}
