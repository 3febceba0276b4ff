"""Permissions and roles: the closed lists everything else leans on."""

import pytest

from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import ALLOWED, Role, permissions_of


def test_permissions_are_listed_alphabetically_and_spelled_resource_action() -> None:
    values = [permission.value for permission in Permission]

    assert values == sorted(values)
    assert all(value.count(":") == 1 for value in values)


def test_a_viewer_only_reads_and_sees_no_payloads() -> None:
    allowed = permissions_of([Role.VIEWER])

    assert all(permission.endswith(":read") for permission in allowed)
    assert Permission.PAYLOADS_READ not in allowed


def test_an_operator_may_act_on_queues_but_not_on_users() -> None:
    allowed = permissions_of([Role.OPERATOR])

    assert allowed > permissions_of([Role.VIEWER])
    assert {Permission.QUEUES_WRITE, Permission.JOBS_WRITE, Permission.PAYLOADS_READ} <= allowed
    assert not {p for p in allowed if p.startswith(("users:", "tokens:", "audit:"))}
    assert Permission.PAYLOADS_REVEAL not in allowed


def test_a_producer_enqueues_and_sees_its_own_jobs_only() -> None:
    assert permissions_of([Role.PRODUCER]) == {Permission.JOBS_ENQUEUE, Permission.JOBS_READ_OWN}


def test_an_admin_may_do_everything() -> None:
    assert permissions_of([Role.ADMIN]) == frozenset(Permission)


@pytest.mark.parametrize("role", Role)
def test_every_role_allows_something(role: Role) -> None:
    assert ALLOWED[role]


def test_roles_add_up_and_no_role_allows_nothing() -> None:
    assert permissions_of([Role.VIEWER, Role.PRODUCER]) == ALLOWED[Role.VIEWER] | ALLOWED[Role.PRODUCER]
    assert permissions_of([]) == frozenset()
