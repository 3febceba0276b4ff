"""Fills a queue in minutes with what would take hours to happen, written as the engine's own scripts write it."""

from typing import Any

from leaseforge.keys import queue_key

CHUNK = 1000
TYPES = 100
GROUPS = 1000

_RECORDS = """
local PREFIX, state = string.sub(KEYS[1], 1, -6), ARGV[1]
local first, count, now = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local types, groups = tonumber(ARGV[5]), tonumber(ARGV[6])
local entries, members = {}, {}
for number = first, first + count - 1 do
  local id = string.format('%08x-0000-4000-8000-%012x', state == 'dead' and 1 or 0, number)
  local key = PREFIX .. 'job:' .. id
  local kind = 'type-' .. number % types
  redis.call('SET', key .. ':in', ARGV[7])
  if state == 'ready' then
    redis.call('HSET', key, 'type', kind, 'created_at', now, 'rev', '1', 'state', 'ready',
      'seq', string.format('%.0f', number), 'ready_at', now)
    entries[#entries + 1] = '0'
    entries[#entries + 1] = string.format('%016.0f', number) .. id
  else
    local group = string.format('%016x', number % groups)
    local at = string.format('%.0f', tonumber(now) - 1000000000 + number)
    redis.call('HSET', key, 'type', kind, 'created_at', at, 'rev', '9', 'state', 'dead', 'seq', '1', 'ready_at', at,
      'token', '1.w', 'settled', '1.w', 'worker', 'w', 'started_at', at, 'attempts', '3', 'failures', '3',
      'error_kind', 'ValueError', 'error', 'user 17 not found', 'reason', 'attempts_exhausted', 'finished_at', at,
      'fp', group)
    for attempt = 1, 3 do
      redis.call('RPUSH', key .. ':history', cmsgpack.pack({ n = attempt, o = 'failed', w = 'w', f = '1',
        s = tonumber(at), e = tonumber(at), k = 'ValueError', m = 'user 17 not found', t = string.rep('x', 200) }))
    end
    redis.call('ZADD', PREFIX .. 'dead:group:' .. group, at, id)
    redis.call('HSETNX', PREFIX .. 'dead:groups', group, kind .. '\\nValueError\\nuser … not found')
    entries[#entries + 1] = at
    entries[#entries + 1] = id
  end
end
redis.call('ZADD', PREFIX .. state, unpack(entries))
redis.call('HINCRBY', PREFIX .. 'counts', 'enqueued', count)
redis.call('HSET', PREFIX .. 'meta', 'seq', string.format('%.0f', first + count))
"""

_EXPIRE = """
local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
for at = 1, #ids, 1000 do
  local entries = {}
  for i = at, math.min(#ids, at + 999) do
    entries[#entries + 1] = ARGV[1]
    entries[#entries + 1] = ids[i]
  end
  redis.call('ZADD', KEYS[1], unpack(entries))
end
return #ids
"""

_STATISTICS = """
local PREFIX, last = string.sub(KEYS[1], 1, -6), tonumber(ARGV[1])
for bucket = last - tonumber(ARGV[2]) + 1, last - tonumber(ARGV[3]) do
  local key = PREFIX .. 'stats:10:' .. string.format('%.0f', bucket)
  local fields = { 'enqueued', '50', 'claimed', '50', 'completed', '40', 'failed', '9', 'retried', '5', 'dead', '4' }
  for kind = 0, 99 do
    for class = 2, 9 do
      fields[#fields + 1] = 'wait:' .. class .. ':type-' .. kind
      fields[#fields + 1] = '3'
      fields[#fields + 1] = 'run:' .. class .. ':type-' .. kind
      fields[#fields + 1] = '2'
    end
    fields[#fields + 1] = 'completed:type-' .. kind
    fields[#fields + 1] = '4'
  end
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIRE', key, 7200000)
end
"""


class Loader:
    """Writes into one queue through a plain client."""

    def __init__(self, raw: Any, queue: str) -> None:
        self.raw = raw
        self.queue = queue
        self.guard = queue_key(queue, "guard")
        self._records = raw.register_script(_RECORDS)

    def load(self, state: str, count: int) -> None:
        """Adds so many `ready` or `dead` jobs, of 100 types and 1,000 kinds of error."""
        seconds, _ = self.raw.time()
        first = 1 + self.raw.zcard(queue_key(self.queue, state))
        for start in range(first, first + count, CHUNK):
            size = min(CHUNK, first + count - start)
            words = [state, start, size, seconds * 1000, TYPES, GROUPS, b'{"to":"ada@example.com"}' + b" " * 76]
            self._records(keys=[self.guard], args=words)

    def expire_leases(self) -> int:
        """Lets every lease have ended a second ago; how many there are."""
        seconds, _ = self.raw.time()
        return int(self.raw.eval(_EXPIRE, 1, queue_key(self.queue, "running"), (seconds - 1) * 1000))

    def load_statistics(self, *, buckets: int = 720) -> None:
        """Lets 100 job types have been busy in each of the last buckets of 10 s."""
        seconds, _ = self.raw.time()
        for done in range(0, buckets, 20):
            words = [seconds // 10 - 1, buckets - done, max(0, buckets - done - 20)]
            self.raw.eval(_STATISTICS, 1, self.guard, *words)
