"""A clock the tests turn: time passes by moving every time a queue holds, never by waiting.

Logical time goes in steps of GRID_MS. What a script writes during a step is moved down to the step's
beginning, so that what it wrote, and how it compares times, depends on no millisecond of this machine.
"""

import time
from collections.abc import Sequence
from typing import Any, cast

from redis.exceptions import NoScriptError

from tests.support import eventually_sync

GRID_MS = 10_000
"""One step: as long as a bucket of the statistics, so that buckets move with everything else."""

DAY_MS = 86_400_000
MARGIN_MS = 1000 * DAY_MS
"""Keys that end by themselves end this much later while a test runs: they go when the tests' clock says so."""

Entry = tuple[str, bytes, Any, int]
"""One key: name, type, value, and the time it ends by itself or a negative number."""

_SCRIPT = """#!lua flags=allow-oom
local grid, shift, margin = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1]) * 1000
local step = math.floor(now / grid) * grid

local function text(n)
  return string.format('%.0f', n)
end

local function moved(at)
  return math.floor(tonumber(at) / grid) * grid + shift
end

local function move_fields(key, names)
  for _, name in ipairs(names) do
    local at = redis.call('HGET', key, name)
    if at and tonumber(at) ~= moved(at) then
      redis.call('HSET', key, name, text(moved(at)))
    end
  end
end

local function move_scores(key)
  local found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if tonumber(found[i + 1]) ~= moved(found[i + 1]) then
      redis.call('ZADD', key, text(moved(found[i + 1])), found[i])
    end
  end
end

local function move_entries(key, first, second)
  for i, packed in ipairs(redis.call('LRANGE', key, 0, -1)) do
    local entry = cmsgpack.unpack(packed)
    local a, b = entry[first], second and entry[second]
    if a ~= moved(a) or (second and b ~= moved(b)) then
      entry[first] = moved(a)
      if second then
        entry[second] = moved(b)
      end
      redis.call('LSET', key, i - 1, cmsgpack.pack(entry))
    end
  end
end

-- What a rate has saved up is moved down together with the time it was counted at.
local function move_meta(key)
  local tokens, rate = unpack(redis.call('HMGET', key, 'tokens', 'rate'))
  if tokens then
    local unit = tonumber(rate) * grid / 1000
    redis.call('HSET', key, 'tokens', string.format('%.6f', math.floor(tonumber(tokens) / unit + 0.000001) * unit))
  end
  move_fields(key, { 'swept_at', 'recover_from', 'tokens_at' })
  if shift ~= 0 and redis.call('HEXISTS', key, 'rolled') == 1 then
    redis.call('HINCRBY', key, 'rolled', text(shift / grid))
  end
  if ARGV[4] ~= '0' and redis.call('HEXISTS', key, 'fence') == 1 then
    redis.call('HINCRBY', key, 'fence', ARGV[4])
  end
end

local function move_end(key)
  local ends = redis.call('PEXPIRETIME', key)
  if ends < 0 then
    return true
  end
  local later = moved(ends) + (ends < now + margin / 2 and margin or 0)
  if later - margin <= step then
    redis.call('DEL', key)
    return false
  end
  if later ~= ends then
    redis.call('PEXPIREAT', key, text(later))
  end
  return true
end

local TIMED = { running = 1, scheduled = 1, retrying = 1, completed = 1, cancelled = 1, dead = 1 }
local buckets, entries = {}, {}
for _, key in ipairs(redis.call('KEYS', 'lf:{*}:*')) do
  local queue, name = string.match(key, '^lf:{(.-)}:(.*)$')
  -- Coarse statistics stay where they are: a shift is no whole number of their buckets.
  local is_coarse = string.find(name, '^stats:300:') or string.find(name, '^stats:3600:')
  if queue ~= 'sys' and (is_coarse or move_end(key)) then
    local kind = redis.call('TYPE', key).ok
    if TIMED[name] or string.find(name, '^dead:group:') then
      move_scores(key)
    elseif string.find(name, '^job:[^:]*$') then
      move_fields(key, { 'created_at', 'ready_at', 'started_at', 'finished_at', 'scheduled_at' })
    elseif string.find(name, ':history$') then
      move_entries(key, 's', 'e')
    elseif string.find(name, ':log$') then
      move_entries(key, 2)
    elseif name == 'meta' then
      move_meta(key)
    elseif name == 'types' then
      move_fields(key, redis.call('HKEYS', key))
    elseif shift ~= 0 and string.find(name, '^stats:10:') then
      local moved_key = 'lf:{' .. queue .. '}:stats:10:' .. text(tonumber(string.sub(name, 10)) + shift / grid)
      redis.call('RENAME', key, 'moving:' .. moved_key)
      buckets[#buckets + 1] = moved_key
      key = nil
    end
    if key and shift == 0 then
      local value
      if kind == 'hash' then
        value = redis.call('HGETALL', key)
      elseif kind == 'zset' then
        value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
      elseif kind == 'list' then
        value = redis.call('LRANGE', key, 0, -1)
      else
        value = redis.call('GET', key)
      end
      local ends = redis.call('PEXPIRETIME', key)
      entries[#entries + 1] = { key, kind, value, ends < 0 and ends or ends - margin }
    end
  end
end
for _, key in ipairs(buckets) do
  redis.call('RENAME', 'moving:' .. key, key)
end
return entries
"""


class LostStep(Exception):
    """This machine stood still for so long that a call may have seen the next step's time."""


class Clockwork:
    """Logical time `now` in ms, a multiple of GRID_MS, kept true for the queues of one database.

    Call `ready` before anything that may look at the time, and `entries` after it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.now = 0
        self._sha = ""
        self._step = self._real_step()

    @property
    def base_ms(self) -> int:
        """What to add to a logical time to have the server's."""
        return self._step * GRID_MS - self.now

    def ready(self) -> None:
        """Makes sure that the step will not end while one call is under way."""
        if time.time() * 1000 % GRID_MS > GRID_MS - 400:
            ending = self._step_at(time.time() + 1)
            eventually_sync(lambda: self._real_step() >= ending, every_s=0.005)
        passed = self._real_step() - self._step
        if passed:
            self._run(passed * GRID_MS, 0)
            self._step += passed

    @property
    def is_lost(self) -> bool:
        """Whether the step has ended under the hands of whoever is at work: what was seen may be of the next one."""
        return self._real_step() != self._step

    def entries(self) -> list[Entry]:
        """Every key of every queue, times moved down to their step. Raises LostStep."""
        found = self._run(0, 0)
        if self.is_lost:
            raise LostStep
        return [(key.decode(), kind, value, ends) for key, kind, value, ends in found]

    def advance(self, by_ms: int) -> None:
        """Lets time pass, or go back: then fencing integers already given stay ahead of the server's time."""
        self.ready()
        self._run(-by_ms, 1000 * max(0, -by_ms))
        self.now += by_ms

    def _run(self, shift_ms: int, fence_us: int) -> Sequence[Any]:
        words = (0, GRID_MS, shift_ms, MARGIN_MS, fence_us)
        try:
            return cast(Sequence[Any], self._client.evalsha(self._sha, *words))
        except NoScriptError:
            self._sha = self._client.script_load(_SCRIPT)
            return cast(Sequence[Any], self._client.evalsha(self._sha, *words))

    @staticmethod
    def _step_at(at_s: float) -> int:
        return int(at_s * 1000) // GRID_MS

    @classmethod
    def _real_step(cls) -> int:
        return cls._step_at(time.time())
