-- session_read: session -> session | (nothing)
--
-- Who a browser session belongs to and what the account may do now. One whose account was changed,
-- disabled or deleted, or that is older than its absolute end, is removed.
--
-- KEYS[1] guard        none  never exists
-- KEYS[2] session      hash  username, epoch, created_at, seen_at
-- ARGV[1] idle_ms      int   the session ends after that long without a request
-- ARGV[2] absolute_ms  int   the session ends that long after login in any case
-- ARGV[3] extend       int   1: this request counts as activity, 0: a page polling by itself
-- returns username, roles; nothing when there is no such session
-- flags allow-oom
local function session_read(K, A)
  local idle, absolute = tonumber(A[1]), tonumber(A[2])
  local session = redis.call('HMGET', K.session, 'username', 'epoch', 'created_at', 'seen_at')
  if not session[1] then
    return {}
  end
  -- The session names its account; the key lies in the same slot as every other key of lf:{sys}.
  local account = string.sub(KEYS[1], 1, -6) .. 'account:' .. session[1]
  local known = redis.call('HMGET', account, 'roles', 'epoch', 'disabled')
  local left = (tonumber(session[3]) or 0) + absolute - NOW
  if known[2] ~= session[2] or known[3] == '1' or left <= 0 then
    redis.call('UNLINK', K.session)
    return {}
  end
  if A[3] == '1' then
    redis.call('PEXPIRE', K.session, text(math.min(idle, left)))
    -- Exact to a minute: the browser asks several times a second.
    if NOW - (tonumber(session[4]) or 0) >= 60000 then
      redis.call('HSET', K.session, 'seen_at', text(NOW))
    end
  end
  return { session[1], known[1] or '' }
end
