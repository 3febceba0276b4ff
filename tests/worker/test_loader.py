"""Loading an author's tasks, and saying in one line why they cannot be loaded."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaseforge.registry import Registry
from leaseforge_worker.demo import TASKS as DEMO
from leaseforge_worker.loader import LoadError, load_tasks

Write = Callable[[str, str], None]

GOOD = "from leaseforge import task\n@task\nasync def send(ctx, payload): ...\n@task(name='b.two')\ndef two(ctx): ...\n"


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Writes modules of an author's folder; they are forgotten afterwards."""
    modules, path = set(sys.modules), list(sys.path)

    def write(name: str, source: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_modules_tasks_are_found(write: Write, tmp_path: Path) -> None:
    write("author_good.py", GOOD)

    assert load_tasks(["author_good"], folder=tmp_path).names() == ("b.two", "send")


def test_one_task_or_a_registry_may_be_named(write: Write, tmp_path: Path) -> None:
    write("author_named.py", GOOD + "from leaseforge import Registry\nsome = Registry([two])\n")

    assert load_tasks(["author_named:send"], folder=tmp_path).names() == ("send",)
    assert load_tasks(["author_named:some"], folder=tmp_path).names() == ("b.two",)


def test_modules_in_packages_and_several_at_once_are_found(write: Write, tmp_path: Path) -> None:
    write("author_pkg/__init__.py", "")
    write("author_pkg/mail.py", GOOD)
    write("author_more.py", "from leaseforge import task\n@task\ndef three(ctx): ...\n")

    assert load_tasks(["author_pkg.mail", "author_more"], folder=tmp_path).names() == ("b.two", "send", "three")


def test_a_task_imported_into_two_modules_is_one_task(write: Write, tmp_path: Path) -> None:
    write("author_one.py", GOOD)
    write("author_both.py", "from author_one import send\n")

    assert load_tasks(["author_one", "author_both"], folder=tmp_path).names() == ("b.two", "send")


def test_the_given_folder_comes_first(write: Write, tmp_path: Path) -> None:
    write("worker.py", GOOD)
    write("auth.py", "MARK = 1\n")

    assert load_tasks(["worker"], folder=tmp_path).names() == ("b.two", "send")
    assert sys.path[0] == str(tmp_path)


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [
        (None, "author_missing", "no module named 'author_missing' here"),
        ("", "author_x.inner", "no module named 'author_x.inner'|not a package"),
        ("import author_nowhere\n", "author_x", r"module 'author_x' needs 'author_nowhere', .*author_x\.py, line 1"),
        ("x = 1 / 0\n", "author_x", r"cannot be imported: ZeroDivisionError: .*author_x\.py, line 1"),
        ("def broken(:\n", "author_x", r"cannot be imported: SyntaxError: .*author_x\.py, line 1"),
        ("import sys\nsys.exit(3)\n", "author_x", r"ended the program while it was imported \(sys\.exit\(3\)\)"),
        ("x = 1\n", "author_x", "module 'author_x' has no tasks"),
        ("x = 1\n", "author_x:y", "module 'author_x' has no 'y'"),
        ("x = 1\n", "author_x:x", "'author_x:x' is no task"),
        (GOOD, "author x", "is no module name"),
        (GOOD, "", "is no module name"),
        (GOOD, "./author_x.py", "is no module name"),
        (
            "from leaseforge import task\n@task\ndef t(a, b, c): ...\n",
            "author_x",
            "module 'author_x': task 't' must take",
        ),
        (GOOD + "@task(name='send')\ndef other(ctx): ...\n", "author_x", "two tasks are named 'send'"),
        ("from leaseforge import task\n@task\ndef t(ctx, p: 'Gone'): ...\n", "author_x", "annotation 'Gone'"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(
    write: Write, tmp_path: Path, source: str | None, target: str, line: str
) -> None:
    if source is not None:
        write("author_x.py", source)

    with pytest.raises(LoadError, match=line) as told:
        load_tasks([target], folder=tmp_path)

    assert "\n" not in str(told.value)


def test_an_error_deeper_in_the_authors_code_is_placed_there(write: Write, tmp_path: Path) -> None:
    write("author_outer.py", "import author_inner\n")
    write("author_inner.py", "\n\nraise RuntimeError('no config')\n")

    with pytest.raises(LoadError, match=r"RuntimeError: no config \(.*author_inner\.py, line 3\)"):
        load_tasks(["author_outer"], folder=tmp_path)


def test_two_modules_with_tasks_of_one_name_are_refused(write: Write, tmp_path: Path) -> None:
    write("author_a.py", GOOD)
    write("author_b.py", GOOD)

    with pytest.raises(LoadError, match=r"two tasks are named 'send': author_a\.send and author_b\.send"):
        load_tasks(["author_a", "author_b"], folder=tmp_path)


HOOKS = (
    "from leaseforge import Middleware\n"
    "class Hooks(Middleware):\n"
    "    def __init__(self, name): self.name = name\n"
    "    def before(self, ctx): ctx.append(self.name)\n"
)


def around(registry: Registry, name: str) -> list[str]:
    seen: list[str] = []
    call: Any = registry.handler(name)
    call(seen, None)
    return seen


def test_a_modules_middleware_surrounds_every_task_of_the_worker(write: Write, tmp_path: Path) -> None:
    write("author_hooks.py", HOOKS + "outer = Hooks('outer')\ninner = Hooks('inner')\n")
    write("author_tasks.py", "from leaseforge import task\nfrom author_hooks import outer\n@task\ndef t(ctx): ...\n")

    registry = load_tasks(["author_hooks", "author_tasks"], folder=tmp_path)

    assert around(registry, "t") == ["outer", "inner"]


def test_middleware_that_a_task_or_registry_names_is_theirs_alone(write: Write, tmp_path: Path) -> None:
    source = HOOKS + (
        "from leaseforge import Registry, task\n"
        "every, own, shared = Hooks('every'), Hooks('own'), Hooks('shared')\n"
        "@task(middleware=[own])\n"
        "def one(ctx): ...\n"
        "@task\n"
        "def two(ctx): ...\n"
        "some = Registry([two], middleware=[shared])\n"
    )
    write("author_own.py", source)

    registry = load_tasks(["author_own:one", "author_own:some"], folder=tmp_path)

    assert around(registry, "one") == ["every", "own"]
    assert around(registry, "two") == ["every", "shared"]


def test_middleware_alone_runs_no_jobs(write: Write, tmp_path: Path) -> None:
    write("author_hooks.py", HOOKS + "outer = Hooks('outer')\n")

    with pytest.raises(LoadError, match="no tasks in author_hooks: middleware alone runs no jobs"):
        load_tasks(["author_hooks"], folder=tmp_path)


def test_middleware_that_a_task_cannot_wait_for_is_told_in_one_line(write: Write, tmp_path: Path) -> None:
    write("author_hooks.py", HOOKS + "    async def after(self, ctx, result): ...\nouter = Hooks('outer')\n")
    write("author_tasks.py", GOOD)

    with pytest.raises(LoadError, match=r"task 'b\.two' is a `def`: nothing there can wait for Hooks\.after"):
        load_tasks(["author_hooks", "author_tasks"], folder=tmp_path)


def test_tasks_that_join_an_authors_later_are_left_alone(write: Write, tmp_path: Path) -> None:
    write("author_hooks.py", HOOKS + "    async def after(self, ctx, result): ...\nouter = Hooks('outer')\n")
    write("author_tasks.py", "from leaseforge import task\n@task\nasync def t(ctx): ...\n")

    registry = load_tasks(["author_hooks", "author_tasks"], folder=tmp_path)
    for one in DEMO:
        registry.add(one)

    assert [type(one).__name__ for one in registry.around("t")] == ["Hooks"]
    assert registry.around("generate_pdf") == ()
