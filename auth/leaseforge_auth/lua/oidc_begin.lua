-- oidc_begin: (nothing) -> login begun
--
-- Remembers a login that goes to the provider now. One address has at most `most` of them under
-- way: the oldest goes, so that nobody fills Redis by beginning logins.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] login     hash  browser, nonce, verifier, target, is_local; named by the digest of its state
-- KEYS[3] begun     zset  digest -> begun, of the address
-- ARGV[1] digest    text  of the state
-- ARGV[2] browser   text  digest of the browser's cookie
-- ARGV[3] nonce     text
-- ARGV[4] verifier  text
-- ARGV[5] target    text  where it leads back to
-- ARGV[6] is_local  int   1 for a page of this server
-- ARGV[7] ttl_ms    int
-- ARGV[8] most      int
-- returns answer (ok)
-- flags allow-oom
local function oidc_begin(K, A)
  local ttl = tonumber(A[7])
  local place = string.sub(K.login, 1, #K.login - #A[1])
  redis.call('HSET', K.login, 'browser', A[2], 'nonce', A[3], 'verifier', A[4], 'target', A[5], 'is_local', A[6])
  redis.call('PEXPIRE', K.login, text(ttl))
  redis.call('ZREMRANGEBYSCORE', K.begun, '-inf', text(NOW - ttl))
  redis.call('ZADD', K.begun, text(NOW), A[1])
  redis.call('PEXPIRE', K.begun, text(ttl))
  for _, digest in ipairs(redis.call('ZRANGE', K.begun, 0, -tonumber(A[8]) - 1)) do
    redis.call('UNLINK', place .. digest)
    redis.call('ZREM', K.begun, digest)
  end
  return 'ok'
end
