"""A worker's settings from its environment."""

import pytest

from leaseforge.errors import SettingsError
from leaseforge.policies import Policy
from leaseforge.settings import read
from leaseforge_worker.queues import QueueChoice
from leaseforge_worker.settings import WorkerSettings


def test_the_defaults_need_no_setting() -> None:
    settings = read(WorkerSettings, {})

    assert settings.queues == QueueChoice(("default",))
    assert (settings.concurrency, settings.batch_size, settings.lease_ms, settings.drain_s) == (16, 200, 10_000, 30.0)
    assert settings.metrics_address == ("127.0.0.1", 8081)
    assert settings.policy == Policy()


def test_settings_come_from_their_variables() -> None:
    settings = read(
        WorkerSettings,
        {
            "LEASEFORGE_WORKER_QUEUES": "a=2,b=1",
            "LEASEFORGE_WORKER_CONCURRENCY": "4",
            "LEASEFORGE_BATCH_SIZE": "1",
            "LEASEFORGE_LEASE_SECONDS": "1.5",
            "LEASEFORGE_BACKOFF_BASE": "0.2",
            "LEASEFORGE_BACKOFF_CAP": "5m",
            "LEASEFORGE_METRICS_ADDR": "off",
        },
    )

    assert settings.queues == QueueChoice(("a", "b"), {"a": 2, "b": 1})
    assert (settings.concurrency, settings.batch_size, settings.lease_ms) == (4, 1, 1500)
    assert settings.metrics_address is None
    assert settings.policy == Policy(backoff_base_ms=200, backoff_cap_ms=300_000)


def test_all_wrong_settings_are_told_at_once() -> None:
    wrong = {
        "LEASEFORGE_WORKER_QUEUES": "a b",
        "LEASEFORGE_WORKER_CONCURRENCY": "0",
        "LEASEFORGE_BATCH_SIZE": "201",
        "LEASEFORGE_LEASE_SECONDS": "0.1",
        "LEASEFORGE_DRAIN_SECONDS": "-1",
        "LEASEFORGE_METRICS_ADDR": "nowhere",
        "LEASEFORGE_LOG_LEVEL": "loud",
        "LEASEFORGE_REDIS_URL": "http://x",
    }

    with pytest.raises(SettingsError) as told:
        read(WorkerSettings, wrong)

    assert {problem.field for problem in told.value.problems} == set(wrong)


def test_the_redis_url_is_left_out_of_the_repr() -> None:
    settings = read(WorkerSettings, {"LEASEFORGE_REDIS_URL": "redis://:hunter2@127.0.0.1/0"})

    assert "hunter2" not in repr(settings)
