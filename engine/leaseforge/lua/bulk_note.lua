-- bulk_note: collecting -> ready; running -> done | stopped; collecting | running -> failed
--
-- What the runner says of a bulk operation, taken only while it leads. The fields are written
-- whatever the state is; the state changes only from the one the runner knows, so that it overrules no operator.
--
-- KEYS[1] guard     none never exists
-- KEYS[2] office    hash who leads: holder, till, term
-- KEYS[3] operation hash the operation
-- KEYS[4] alive     zset id -> created, of those the runner has not closed
-- ARGV[1] term    int  the runner's term
-- ARGV[2] id      text the operation
-- ARGV[3] before  text the state the runner knows
-- ARGV[4] after   text the state it leads to, or the same
-- ARGV[5] is_over int  1: nothing is left to be done for it
-- ARGV[6] keep_ms int  how long it is kept after its last change
-- ARGV[7...] field text | value text
-- returns answer (ok, conflict, fenced, not_found), its state
-- flags allow-oom
-- uses _queue
local ENDS = { done = true, failed = true }

local function bulk_note(K, A)
  local state = redis.call('HGET', K.operation, 'state')
  if whole(redis.call('HGET', K.office, 'term')) ~= whole(A[1]) then
    return { 'fenced', state or '' }
  end
  if not state then
    redis.call('ZREM', K.alive, A[2])
    return { 'not_found', '' }
  end
  for i = 7, #A, 2 do
    redis.call('HSET', K.operation, A[i], A[i + 1])
  end
  redis.call('PEXPIRE', K.operation, A[6])
  if A[5] == '1' then
    redis.call('ZREM', K.alive, A[2])
  end
  if state ~= A[3] then
    return { 'conflict', state }
  end
  if A[4] ~= state then
    redis.call('HSET', K.operation, 'state', A[4])
    if ENDS[A[4]] then
      redis.call('HSET', K.operation, 'ended_at', NOW_TEXT)
    elseif A[4] == 'ready' then
      redis.call('HSET', K.operation, 'ready_at', NOW_TEXT)
    end
  end
  return { 'ok', A[4] }
end
