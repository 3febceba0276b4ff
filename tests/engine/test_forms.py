"""What payloads look like: kept by type, bounded in size and number."""

from leaseforge import forms, limits
from tests.support.live_queue import LiveQueue


def test_the_last_form_of_a_type_is_the_one_that_is_read(line: LiveQueue) -> None:
    assert line.run(forms.form_of("work")) is None

    line.run(forms.publish({"work": b"{}", "other": b"[]"}))
    kept = line.run(forms.publish({"work": b'{"a":1}'}))

    assert kept == 2
    assert line.run(forms.form_of("work")) == b'{"a":1}'
    assert line.run(forms.form_of("other")) == b"[]"


def test_a_task_that_declares_nothing_any_more_or_too_much_has_no_form(line: LiveQueue) -> None:
    line.run(forms.publish({"work": b"{}", "other": b"{}", "third": b"{}"}))

    kept = line.run(forms.publish({"work": b"", "other": b"x" * (limits.MAX_FORM_BYTES + 1)}))

    assert kept == 1
    assert line.run(forms.form_of("work")) is None
    assert line.run(forms.form_of("other")) is None


def test_of_too_many_types_the_oldest_go(line: LiveQueue) -> None:
    line.run(forms.publish({"old": b"{}"}))
    line.raw.zadd("lf:{sys}:forms-published", {"old": 1})

    kept = line.run(forms.publish({f"type{number}": b"{}" for number in range(limits.MAX_FORMS)}))

    assert kept == limits.MAX_FORMS == line.raw.zcard("lf:{sys}:forms-published")
    assert line.run(forms.form_of("old")) is None
    assert line.run(forms.form_of("type0")) == b"{}"
