-- session_open: (nothing) -> session
--
-- Stores a new browser session, if the account still is what it was when the password was checked.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] session   hash  username, epoch, created_at; named by the hash of the session id
-- KEYS[3] account   hash  epoch, disabled
-- ARGV[1] username  text
-- ARGV[2] epoch     text  the account's epoch at the password check
-- ARGV[3] idle_ms   int   the session ends after that long without a request
-- returns answer (ok, conflict)
-- flags allow-oom
local function session_open(K, A)
  local known = redis.call('HMGET', K.account, 'epoch', 'disabled')
  if known[1] ~= A[2] or known[2] == '1' then
    return 'conflict'
  end
  redis.call('HSET', K.session, 'username', A[1], 'epoch', A[2], 'created_at', text(NOW))
  redis.call('PEXPIRE', K.session, text(tonumber(A[3])))
  return 'ok'
end
