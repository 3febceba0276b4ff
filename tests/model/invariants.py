"""What must hold of a queue at every quiet moment, whatever happened: judged by what is there, not by the model."""

from collections.abc import Callable, Iterator

from tests.model.pictures import ENDED, JobPicture, QueuePicture, Seen
from tests.support.audit import problems

COUNTED_ENDS = ("completed", "failed", "crashed", "released", "recovered")


def broken_rules(seen: Seen, budget: Callable[[str], int], max_recoveries: int, *, clock_went_back: bool) -> list[str]:
    """Every broken rule, in words. `budget` tells how many failures a job may have, 0 for any number."""
    picture = seen.picture
    found = problems(seen.raw)
    for job_id, job in picture.jobs.items():
        found += [f"{job_id} {problem}" for problem in _budget_problems(job, budget(job_id), max_recoveries)]
        found += [f"{job_id} {problem}" for problem in _group_problems(picture, job_id, job)]
        if not clock_went_back:
            found += [f"{job_id} {problem}" for problem in _start_problems(job)]
    return [*found, *_count_problems(picture)]


def _budget_problems(job: JobPicture, budget: int, max_recoveries: int) -> Iterator[str]:
    """A spent budget is the end: a job that goes on has some left."""
    if budget and job.failures > budget:
        yield f"failed {job.failures} times, {budget} are allowed"
    if budget and job.failures == budget and job.state not in ENDED:
        yield f"has spent its budget of {budget} and is {job.state}"
    if job.recoveries > max_recoveries + 1:
        yield f"lost {job.recoveries} leases and processes"
    if job.recoveries > max_recoveries and job.state not in ENDED:
        yield f"lost {job.recoveries} leases and is {job.state}"
    if job.attempts < job.attempts_base + job.failures + job.recoveries:
        yield f"has {job.attempts} attempts, {job.failures} failures and {job.recoveries} lost leases"
    if len(job.history) > job.attempts:
        yield f"remembers {len(job.history)} ended attempts of {job.attempts}"


def _group_problems(picture: QueuePicture, job_id: str, job: JobPicture) -> Iterator[str]:
    groups = [name for name, (_, members) in picture.groups.items() if job_id in members]
    if groups != ([job.fp] if job.state == "dead" else []):
        yield f"is {job.state}, of group {job.fp}, and stands in the groups {groups}"


def _start_problems(job: JobPicture) -> Iterator[str]:
    """No start before its time, unless an operator had a hand in it."""
    if job.last_op is not None:
        return
    is_first = job.attempts <= 1 and not job.releases and not job.recoveries and not job.replays
    if job.scheduled_at is None or not is_first or job.state not in ("ready", "running"):
        return
    if job.ready_at is not None and job.ready_at < job.scheduled_at:
        yield f"became ready at {job.ready_at}, its time is {job.scheduled_at}"
    if job.started_at is not None and job.started_at < job.scheduled_at:
        yield f"started at {job.started_at}, its time is {job.scheduled_at}"


def _count_problems(picture: QueuePicture) -> Iterator[str]:
    """Every claim has ended in one way, or still runs; statistics count what the totals count."""
    counts = picture.counts
    running = sum(job.state == "running" for job in picture.jobs.values())
    ended = sum(counts.get(name, 0) for name in COUNTED_ENDS)
    claimed = counts.get("claimed", 0)
    if not 0 <= claimed - running - ended <= counts.get("cancelled", 0) + counts.get("dead", 0):
        yield f"{claimed} claims, {running} run, {ended} ended"
    if counts.get("retried", 0) > counts.get("failed", 0):
        yield f"{counts.get('retried')} retries of {counts.get('failed', 0)} failures"
    for group, (_, members) in picture.groups.items():
        if not members:
            yield f"group {group} is empty"
        for job_id in members:
            if job_id not in picture.jobs:
                yield f"group {group} holds {job_id}, which has no record"
    if picture.coarse[300] != picture.coarse[3600]:
        yield f"5 min and 1 h buckets differ: {picture.coarse}"
