-- read_foreign: in the place of which keys of no queue something else stands, or what they hold that is none of ours
--
-- What reads them shows as empty what they should tell, so that one of them hides no other.
--
-- KEYS[1] queues     zset names of all queues
-- KEYS[2] workers    zset ids of all workers
-- KEYS[3] operations zset ids of bulk operations
-- KEYS[4] alive      zset ids of those that need the runner
-- KEYS[5] forms      hash type -> JSON Schema of its payloads
-- ARGV[1] most int so many are named
-- returns whole names of keys; entries among the queues' names that are no names
-- flags no-writes
local function read_foreign(K, A)
  local most, foreign, odd = tonumber(A[1]), {}, {}
  local function is_own(key, wanted)
    local kind = redis.call('TYPE', key).ok
    if kind ~= wanted and kind ~= 'none' and #foreign < most then
      foreign[#foreign + 1] = key
    end
    return kind == wanted
  end
  is_own(K.operations, 'zset')
  is_own(K.alive, 'zset')
  is_own(K.forms, 'hash')
  if is_own(K.queues, 'zset') then
    for _, name in ipairs(redis.call('ZRANGE', K.queues, 0, 999)) do
      if (#name > 64 or name == 'sys' or not string.find(name, '^[%w._-]+$')) and #odd < most then
        odd[#odd + 1] = name
      end
    end
  end
  if is_own(K.workers, 'zset') then
    for _, id in ipairs(redis.call('ZRANGE', K.workers, 0, 999, 'REV')) do
      is_own('lf:{sys}:worker:' .. id, 'string')
    end
  end
  return { foreign, odd }
end
