-- session_revoke: session -> (nothing)
--
-- Ends the session of an account that answers to a public id, the beginning of its digest.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] sessions  zset  digest -> created, of this account
-- ARGV[1] id  text  16 hexadecimal digits
-- returns answer (ok, not_found)
-- flags allow-oom
local function session_revoke(K, A)
  for _, digest in ipairs(redis.call('ZRANGE', K.sessions, 0, -1)) do
    if #A[1] == 16 and string.sub(digest, 1, 16) == A[1] then
      redis.call('ZREM', K.sessions, digest)
      return redis.call('UNLINK', string.sub(KEYS[1], 1, -6) .. 'session:' .. digest) == 1 and 'ok' or 'not_found'
    end
  end
  return 'not_found'
end
