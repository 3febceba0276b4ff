-- session_open: (nothing) -> session
--
-- Stores a new browser session, if the account still is what it was when it logged in. An account
-- has at most `most` of them: the oldest goes.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] session   hash  username, epoch, created_at, seen_at, address, agent; named by the digest of its id
-- KEYS[3] account   hash  epoch, disabled
-- KEYS[4] sessions  zset  digest -> created, of this account
-- ARGV[1] username  text
-- ARGV[2] epoch     text  the account's epoch at the password check
-- ARGV[3] idle_ms   int   the session ends after that long without a request
-- ARGV[4] digest    text  of the session's id
-- ARGV[5] address   text  where it was opened from
-- ARGV[6] agent     text  what the browser calls itself
-- ARGV[7] most      int
-- returns answer (ok, conflict)
-- flags allow-oom
local function session_open(K, A)
  local known = redis.call('HMGET', K.account, 'epoch', 'disabled')
  if known[1] ~= A[2] or known[2] == '1' then
    return 'conflict'
  end
  redis.call('HSET', K.session, 'username', A[1], 'epoch', A[2], 'created_at', text(NOW), 'seen_at', text(NOW),
    'address', A[5], 'agent', A[6])
  redis.call('PEXPIRE', K.session, text(tonumber(A[3])))
  local place = string.sub(K.session, 1, #K.session - #A[4])
  for _, digest in ipairs(redis.call('ZRANGE', K.sessions, 0, -1)) do
    if redis.call('EXISTS', place .. digest) == 0 then
      redis.call('ZREM', K.sessions, digest)
    end
  end
  redis.call('ZADD', K.sessions, text(NOW), A[4])
  for _, digest in ipairs(redis.call('ZRANGE', K.sessions, 0, -tonumber(A[7]) - 1)) do
    redis.call('UNLINK', place .. digest)
    redis.call('ZREM', K.sessions, digest)
  end
  return 'ok'
end
