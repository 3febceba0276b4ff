"""What `@task(isolate=True)` takes, and how a task is found again by another process."""

import sys
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from leaseforge import Middleware
from leaseforge.isolation import Isolation, Whereabouts
from leaseforge.limits import MAX_CPU_S, MAX_MEMORY_MB
from leaseforge.places import Place, at, place_of
from leaseforge.registry import Registry
from leaseforge.tasks import TaskError, task

HERE = __name__


class Noted(Middleware):
    """A middleware that can be found."""


noted = Noted()


def plain(ctx: Any) -> str:
    return "plain"


@task(isolate=True, memory_mb=100, cpu_s=5)
def top(ctx: Any) -> str:
    return "top"


@task(name="other.name", isolate=True, middleware=[noted])
async def renamed(ctx: Any, payload: int) -> int:
    return payload


class Grouped:
    """A namespace of tasks."""

    @task(name="grouped", isolate=True)
    @staticmethod
    def inner(ctx: Any) -> str:
        return "inner"


alias = task(name="partly", isolate=True)(partial(plain))


def test_limits_belong_to_the_task() -> None:
    assert top.isolation == Isolation(memory_mb=100, cpu_s=5)
    assert renamed.isolation == Isolation()
    assert task(plain).isolation is None
    assert task(isolate=True, memory_mb=MAX_MEMORY_MB, cpu_s=MAX_CPU_S)(plain).isolation is not None


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"memory_mb": 0}, "memory_mb must be a whole number from 1 to 1048576, not 0"),
        ({"memory_mb": MAX_MEMORY_MB + 1}, "memory_mb must"),
        ({"memory_mb": 1.5}, "not 1.5"),
        ({"cpu_s": True}, "cpu_s must be a whole number from 1 to 604800, not True"),
        ({"cpu_s": -1, "memory_mb": "1"}, "memory_mb must.*cpu_s must"),
        ({"isolate": False, "cpu_s": 1}, "need isolate=True"),
        ({"isolate": False, "memory_mb": 1}, "need isolate=True"),
        ({"isolate": 1}, "isolate must be True or False, not 1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(TaskError, match=word):
        task(**{"isolate": True} | options)(plain)


@pytest.mark.parametrize(("one", "attribute"), [(top, "top"), (renamed, "renamed"), (Grouped.inner, "Grouped.inner")])
def test_a_task_is_found_where_it_is_written(one: Any, attribute: str) -> None:
    [found] = Registry([one]).whereabouts()

    assert found == Whereabouts(one.name, Place(HERE, attribute), ())
    assert at(found.task) is one


def test_a_task_is_found_where_it_is_kept() -> None:
    [found] = Registry([alias]).whereabouts()

    assert found.task == Place(HERE, "alias")


def test_a_task_made_of_an_importable_function_is_found_by_that() -> None:
    [found] = Registry([task(name="made", isolate=True)(plain)]).whereabouts()

    assert found == Whereabouts("made", Place(HERE, "plain"), ())


def test_what_surrounds_a_task_is_found_too_but_not_its_own() -> None:
    [found] = Registry([top], middleware=[noted]).whereabouts()
    [own] = Registry([renamed]).whereabouts()

    assert found.around == (Place(HERE, "noted"),)
    assert own.around == ()


def test_tasks_that_share_the_workers_process_need_no_place() -> None:
    def local(ctx: Any) -> None: ...

    assert Registry([task(local)]).whereabouts() == ()


def test_a_made_task_with_middleware_of_its_own_must_be_kept_somewhere() -> None:
    made = task(name="made", isolate=True, middleware=[noted])(plain)

    with pytest.raises(TaskError, match="'made' cannot run in a child process: it is no attribute of module"):
        Registry([made]).whereabouts()


def test_the_started_program_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    value = object()
    vars(main)["value"] = value
    monkeypatch.setitem(sys.modules, "__main__", main)

    assert place_of(value, modules=("__main__",), attribute="value") is None


@pytest.mark.parametrize("place", [Place("no_such_module", "x"), Place(HERE, "no_such"), Place(HERE, "plain.no.such")])
def test_what_is_not_there_is_an_error(place: Place) -> None:
    with pytest.raises((ImportError, AttributeError)):
        at(place)
