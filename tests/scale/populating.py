"""Fills an installation as months of use would: many queues, jobs in every state, workers that report.

Jobs and dead groups are written by one script of the same fields and sets as the engine's own, as a million
transitions would take hours; queues, running jobs and workers come by the engine's calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaseforge import exchanges, operations
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge.workers import ReportedJob, WorkerReport, WorkerState

CHUNK = 1000
RARE = 10_000
"""Of so many jobs in a row one has the type `rare`, the tag `rare` and the creator `rare`."""
_LEASE_MS = 3_600_000
_SLOTS = 16
_SPAN_MS = 20 * 3_600_000
"""Jobs came, or ended, evenly over so long until now; those that wait are due over so long from now on."""

_FILL = """
local PREFIX, state = string.sub(KEYS[1], 1, -6), ARGV[1]
local queue, first, count, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local rare, payload, groups, step = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local codes = { ready = 0, dead = 1, completed = 2, scheduled = 3, retrying = 4, cancelled = 5 }
local function text(n) return string.format('%.0f', n) end
local entries = {}
for number = first, first + count - 1 do
  local id = string.format('%08x-%04x-4000-8000-%012x', codes[state], queue, number)
  local key = PREFIX .. 'job:' .. id
  local is_rare = number % rare == 7
  local priority = number % 5
  local ended = now - 72000000 + number * step + queue
  local fields = { 'type', is_rare and 'rare' or 'type-' .. number % 40, 'created_at', text(ended - 60000),
    'tags', is_rare and '["rare"]' or '["tenant-' .. number % 50 .. '"]', 'rev', '3', 'state', state,
    'created_by', is_rare and 'rare' or 'service-' .. number % 4 }
  local function set(...)
    for _, word in ipairs({ ... }) do
      fields[#fields + 1] = word
    end
  end
  if priority > 0 then
    set('priority', text(priority))
  end
  local score = text(ended)
  if state == 'ready' then
    score = text(-priority)
    set('seq', text(number), 'ready_at', text(ended))
    entries[#entries + 1] = score
    entries[#entries + 1] = string.format('%016.0f', number) .. id
  else
    if state == 'scheduled' then
      score = text(now + 3600000 + number * step + queue)
      set('scheduled_at', score)
    elseif state == 'retrying' then
      score = text(now + 600000 + number * step + queue)
      set('attempts', '1', 'failures', '1', 'error_kind', 'TimeoutError', 'error', 'the mail server did not answer')
    else
      set('seq', '1', 'ready_at', text(ended - 2000), 'token', '1.w', 'settled', '1.w', 'worker', 'w', 'attempts', '3',
        'started_at', text(ended - 1000), 'finished_at', score)
    end
    if state == 'dead' then
      local group = string.format('%016x', number % groups)
      local said = is_rare and 'no route to the moon' or 'user ' .. number .. ' not found'
      set('failures', '3', 'error_kind', 'ValueError', 'error', said, 'reason', 'attempts_exhausted', 'fp', group)
      for attempt = 1, 3 do
        redis.call('RPUSH', key .. ':history', cmsgpack.pack({ n = attempt, o = 'failed', w = 'w', f = '1',
          s = ended - 1000, e = ended, k = 'ValueError', m = said, t = string.rep('x', 200) }))
      end
      redis.call('ZADD', PREFIX .. 'dead:group:' .. group, score, id)
      redis.call('HSETNX', PREFIX .. 'dead:groups', group, 'type-' .. number % 40 .. '\\nValueError\\nuser N not found')
    end
    entries[#entries + 1] = score
    entries[#entries + 1] = id
  end
  redis.call('HSET', key, unpack(fields))
  redis.call('SET', key .. ':in', payload)
end
redis.call('ZADD', PREFIX .. state, unpack(entries))
redis.call('HINCRBY', PREFIX .. 'counts', 'enqueued', count)
if state == 'ready' then
  redis.call('HSET', PREFIX .. 'meta', 'seq', text(first + count))
end
"""


def _shares() -> Mapping[str, float]:
    return {"ready": 0.4, "dead": 0.2, "completed": 0.2, "scheduled": 0.1, "retrying": 0.08, "cancelled": 0.02}


@dataclass(frozen=True, slots=True)
class Population:
    """So many jobs over so many queues; `shares` says in which states. `groups` are a queue's kinds of error."""

    jobs: int = 1_000_000
    queues: int = 20
    workers: int = 20
    running: int = 100
    groups: int = 50
    shares: Mapping[str, float] = field(default_factory=_shares)

    def names(self) -> list[str]:
        """The queues, by name."""
        return [f"queue-{number:03}" for number in range(self.queues)]


def is_populated(raw: Any) -> bool:
    """Whether somebody has filled this server before."""
    return bool(raw.exists("lf:{sys}:queues"))


def populate(store: SyncStore, raw: Any, wanted: Population) -> None:
    """Fills an empty server."""
    fill = raw.register_script(_FILL)
    now_ms = int(raw.time()[0]) * 1000
    payload = b'{"to":"ada@example.com"}' + b" " * 76
    for number, queue in enumerate(wanted.names()):
        _run_some(store, queue, wanted.running)
        store.run(operations.configure(queue, {"keep": 10_000_000, "dead_keep": 10_000_000}))
        for state, share in wanted.shares.items():
            count = round(wanted.jobs * share / wanted.queues)
            for first in range(1, count + 1, CHUNK):
                size = min(CHUNK, count + 1 - first)
                words = [state, number, first, size, now_ms, RARE, payload, wanted.groups, _SPAN_MS // count]
                fill(keys=[queue_key(queue, "guard")], args=words)
    for number in range(wanted.workers):
        store.run(exchanges.register_worker(_report(number, wanted.names())))


def _run_some(store: SyncStore, queue: str, count: int) -> None:
    """Lets so many jobs of a queue run, for an hour."""
    store.run(operations.enqueue_many([new_job("type-0", queue=queue) for _ in range(max(1, count))]))
    for number, left in enumerate(range(count, 0, -100), 1):
        want = min(100, left)
        store.run(exchanges.exchange(queue, run_id="w", number=number, lease_ms=_LEASE_MS, want=want, settlements=[]))


def _report(number: int, queues: list[str]) -> WorkerReport:
    """What a worker of four queues with all slots busy reports; it is not lost for an hour."""
    served = tuple(queues[(4 * number + further) % len(queues)] for further in range(min(4, len(queues))))
    running = tuple(
        ReportedJob(
            id=f"{slot:08x}-0000-4000-8000-{number:012x}",
            queue=served[slot % len(served)],
            type=f"type-{slot}",
            fence=slot,
            started_ms=1_796_000_000_000,
        )
        for slot in range(_SLOTS)
    )
    return WorkerReport(
        id=f"host-{number:03}",
        host=f"host-{number:03}",
        pid=1000 + number,
        version="1",
        queues=served,
        types=tuple(f"type-{kind}" for kind in range(40)),
        slots=_SLOTS,
        state=WorkerState.RUNNING,
        rss_bytes=80_000_000,
        started_ms=1_796_000_000_000,
        ttl_ms=_LEASE_MS,
        running_count=_SLOTS,
        running=running,
    )
