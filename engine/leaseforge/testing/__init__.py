"""For the tests of task authors: run a task without Redis, or against a server of the test session's own.

    trial = run_task(send_email, {"to": "ada@example.com"})
    assert trial.state is JobState.COMPLETED

`leaseforge.testing.fixtures` holds pytest fixtures; nothing else here needs pytest.
"""

from leaseforge.testing.trial import Trial, TrialFailed, run_task, run_task_async

__all__ = ["Trial", "TrialFailed", "run_task", "run_task_async"]
