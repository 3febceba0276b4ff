-- delete: any state but running -> gone
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] counts    hash totals
-- KEYS[3] ready     zset claimable jobs
-- KEYS[4] scheduled zset id -> due
-- KEYS[5] retrying  zset id -> due
-- KEYS[6] completed zset id -> finished
-- KEYS[7] cancelled zset id -> finished
-- KEYS[8] dead      zset id -> finished
-- KEYS[9] groups    hash dead groups: key -> title
-- ARGV[1] id   text the job
-- ARGV[2] only text states it may be in, apart by spaces; empty: any of them
-- returns answer (ok, not_found, conflict while it runs or in another state), the state it had
-- flags allow-oom
-- uses _queue
local function delete(K, A)
  check_sets(K)
  local id = A[1]
  local values = read_record(id, 'seq', 'fp', 'unique_key')
  if not values then
    return { 'not_found', '' }
  end
  local state = values[1]
  local only = A[2] or ''
  if state == 'running' then
    return { 'conflict', state }
  end
  if only ~= '' and not string.find(' ' .. only .. ' ', ' ' .. state .. ' ', 1, true) then
    return { 'conflict', state }
  end
  local entry = state == 'ready' and ready_member(values[2], id) or id
  if K[state] then
    redis.call('ZREM', K[state], entry)
  end
  if state == 'dead' then
    leave_group(K, id, values[3])
  end
  free_unique(id, values[4])
  forget({ id })
  count('deleted')
  return { 'ok', state }
end
