-- oidc_code_store: (nothing) -> code
--
-- Keeps a one-time code for a login that has succeeded.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] code      hash  username, epoch; named by the digest of the code
-- ARGV[1] username  text
-- ARGV[2] epoch     text  the account's epoch at the login
-- ARGV[3] ttl_ms    int
-- returns answer (ok)
-- flags allow-oom
local function oidc_code_store(K, A)
  redis.call('HSET', K.code, 'username', A[1], 'epoch', A[2])
  redis.call('PEXPIRE', K.code, text(tonumber(A[3])))
  return 'ok'
end
