-- bulk_act: the next jobs of a bulk operation -> what its action makes of them
--
-- Takes up to `limit` of the jobs written down and does to each what the operator's single action does,
-- if its rev is still the one written down; what came of it is counted in the same script, so each
-- job is acted on once whichever process dies when. A job that cannot be acted on stops no other.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] ready     zset claimable jobs
-- KEYS[5] running   zset id -> lease expiry
-- KEYS[6] scheduled zset id -> due
-- KEYS[7] retrying  zset id -> due
-- KEYS[8] completed zset id -> finished
-- KEYS[9] cancelled zset id -> finished
-- KEYS[10] dead      zset id -> finished
-- KEYS[11] groups    hash dead groups: key -> title
-- KEYS[12] wake      list wake token
-- KEYS[13] part      hash the queue's part of the operation, see _bulk.lua
-- KEYS[14] chosen    list id and rev of the jobs left
-- KEYS[15] watched   zset jobs whose outcome is waited for, score: last looked at
-- ARGV[1] term      int  the runner's term; an earlier one is refused
-- ARGV[2] run       int  how often the operation was started; one that was halted since is refused
-- ARGV[3] at        int  jobs taken before this call; a call sent again takes none
-- ARGV[4] limit     int  at most so many jobs, 1 to 100
-- ARGV[5] action    text retry, requeue, cancel, delete, promote
-- ARGV[6] operation text the operation's id, kept as the jobs' last_op
-- ARGV[7] watch     int  so many jobs are watched at most
-- ARGV[8] keep_ms   int  how long the part is kept
-- returns answer (ok, already_done, fenced, halted, not_found), fields and values of the part; moves if any
-- flags allow-oom
-- uses _queue, _bulk, _replay, retry, requeue, cancel, delete, promote_job
local function perform(K, action, id, operation)
  if action == 'retry' then
    return retry(K, { id, operation, '0', '' })
  elseif action == 'requeue' then
    return requeue(K, { id, operation })
  elseif action == 'cancel' then
    return cancel(K, { id, operation })
  elseif action == 'delete' then
    return delete(K, { id })
  end
  return promote_job(K, { id, operation })
end

-- Acts on one job; the name of what it is counted as. A fault's text goes into `faults`.
local function act(K, entry, action, operation, faults)
  local id, version = string.match(entry, '^(.*) (%S+)$')
  local values = read_record(id, 'rev', 'created_at')
  if not values then
    return 'gone', id
  end
  if version_of(values[2], values[3]) ~= version then
    return 'changed', id
  end
  local fine, reply = pcall(perform, K, action, id, operation)
  if not fine then
    faults[1] = string.sub(type(reply) == 'table' and reply.err or reply, 1, 200)
    return 'failed:fault', id
  end
  if reply[1] == 'ok' then
    return 'done', id
  end
  if reply[1] == 'conflict' then
    return (reply[3] or '') ~= '' and 'failed:unique_key_taken' or 'failed:invalid_transition', id
  end
  return 'changed', id
end

local function bulk_act(K, A)
  check_sets(K)
  local part = redis.call('HMGET', K.part, 'term', 'halted', 'at', 'step')
  if not part[4] then
    return part_answer(K, 'not_found')
  end
  if whole(part[1]) > whole(A[1]) then
    return part_answer(K, 'fenced')
  end
  if whole(part[2]) >= whole(A[2]) then
    return part_answer(K, 'halted')
  end
  if whole(part[3]) ~= whole(A[3]) then
    return part_answer(K, 'already_done')
  end
  local entries = redis.call('LRANGE', K.chosen, 0, tonumber(A[4]) - 1)
  local room = tonumber(A[7]) - redis.call('ZCARD', K.watched)

  local results, faults, watching = {}, {}, {}
  wakes_later = true
  for _, entry in ipairs(entries) do
    local result, id = act(K, entry, A[5], A[6], faults)
    results[result] = (results[result] or 0) + 1
    if result == 'done' and #watching < 2 * room then
      watching[#watching + 1] = NOW_TEXT
      watching[#watching + 1] = id
    end
  end
  wakes_later = false
  for result, n in pairs(results) do
    redis.call('HINCRBY', K.part, result, n)
  end
  redis.call('HSET', K.part, 'term', A[1], 'at', text(whole(A[3]) + #entries), 'fault', faults[1] or '')
  redis.call('LTRIM', K.chosen, #entries, -1)
  redis.call('PEXPIRE', K.part, A[8])
  redis.call('PEXPIRE', K.chosen, A[8])
  if #watching > 0 then
    redis.call('ZADD', K.watched, unpack(watching))
    redis.call('PEXPIRE', K.watched, A[8])
  end
  wake_if_claimable(K)
  local answer = part_answer(K, 'ok')
  answer[3] = moves
  return answer
end
