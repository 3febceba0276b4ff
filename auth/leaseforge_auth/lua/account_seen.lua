-- account_seen: account -> account
--
-- Notes a login that succeeded.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] account  hash  last_login_at
-- returns answer (ok, not_found)
-- flags allow-oom
local function account_seen(K, A)
  if redis.call('EXISTS', K.account) == 0 then
    return 'not_found'
  end
  redis.call('HSET', K.account, 'last_login_at', text(NOW))
  return 'ok'
end
