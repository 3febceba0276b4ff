-- purge_dead: dead -> gone
--
-- Removes one chunk of the dead jobs an operator was shown: those that died before `before_ms`, the oldest
-- first. What died later stays, also if it had been dead and was retried in between.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] counts hash totals
-- KEYS[3] dead   zset id -> finished
-- KEYS[4] groups hash dead groups: key -> title
-- ARGV[1] before_ms int Redis time
-- ARGV[2] limit     int at most so many, 1 to 200
-- returns how many jobs were removed, how many entries went
-- flags allow-oom
-- uses _queue
local function purge_dead(K, A)
  check_sets(K)
  local entries = redis.call('ZRANGE', K.dead, '-inf', '(' .. A[1], 'BYSCORE', 'LIMIT', 0, tonumber(A[2]))
  local ids = {}
  for _, id in ipairs(entries) do
    local values = read_record(id, 'fp', 'unique_key')
    if values and values[1] ~= 'dead' then
      -- A member that is a job of another state is only dropped: what it names is alive elsewhere.
      count('dropped')
    else
      if values then
        leave_group(K, id, values[2])
        free_unique(id, values[3])
      end
      ids[#ids + 1] = id
    end
  end
  if #entries > 0 then
    redis.call('ZREM', K.dead, unpack(entries))
    forget(ids)
  end
  if #ids > 0 then
    count('purged', #ids)
  end
  return { #ids, #entries }
end
