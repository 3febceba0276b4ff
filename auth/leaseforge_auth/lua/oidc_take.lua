-- oidc_take: login begun -> (nothing)
--
-- Ends a login that has come back, whoever brings it: what another browser has seen is worth nothing.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] login    hash  browser, nonce, verifier, target, is_local
-- ARGV[1] browser  text  digest of the browser's cookie
-- returns whether it is the same browser (1 or ''), nonce, verifier, target, is_local; nothing for an unknown login
-- flags allow-oom
local function oidc_take(K, A)
  local known = redis.call('HMGET', K.login, 'browser', 'nonce', 'verifier', 'target', 'is_local')
  if not known[1] then
    return {}
  end
  redis.call('UNLINK', K.login)
  if known[1] ~= A[1] then
    return { '', '', '', '', '' }
  end
  return { '1', known[2] or '', known[3] or '', known[4] or '', known[5] or '' }
end
