-- session_standing: session -> session
--
-- Which of many browser sessions are still good, for pages that are open already. Nothing is removed
-- and no session is kept alive by it.
--
-- KEYS[1] guard  none  never exists; lf:{sys}: is what stands before its name
-- ARGV[1] absolute_ms  int  a session ends that long after login in any case
-- ARGV[2...] digest  text  of a session's id
-- returns ended or good, for each
-- flags no-writes
local function session_standing(K, A)
  local system, reply = string.sub(KEYS[1], 1, -6), {}
  for i = 2, #A do
    local session = redis.call('HMGET', system .. 'session:' .. A[i], 'username', 'epoch', 'created_at')
    reply[i - 1] = 'ended'
    if session[1] then
      local known = redis.call('HMGET', system .. 'account:' .. session[1], 'epoch', 'disabled')
      local left = (tonumber(session[3]) or 0) + tonumber(A[1]) - NOW
      if known[1] == session[2] and known[2] ~= '1' and left > 0 then
        reply[i - 1] = 'good'
      end
    end
  end
  return reply
end
