-- api_token_revoke: api token -> (nothing)
--
-- Ends an API token at once. With an owner given, only one of this owner's.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] tokens   zset  id -> created, of all
-- KEYS[3] services hash  name -> id of service tokens
-- KEYS[4] token    hash  digest, name, kind, owner, roles, permissions, created_at, expires_at, last_used_at
-- ARGV[1] id       text
-- ARGV[2] owner    text  '' for any, else only a personal one of this account
-- returns answer (ok, not_found)
-- flags allow-oom
local function api_token_revoke(K, A)
  local token = redis.call('HMGET', K.token, 'owner', 'kind', 'name')
  if not token[1] or (A[2] ~= '' and (token[1] ~= A[2] or token[2] == 'service')) then
    return 'not_found'
  end
  redis.call('UNLINK', K.token)
  redis.call('ZREM', K.tokens, A[1])
  redis.call('ZREM', string.sub(KEYS[1], 1, -6) .. 'tokens:' .. token[1], A[1])
  if token[2] == 'service' and redis.call('HGET', K.services, token[3]) == A[1] then
    redis.call('HDEL', K.services, token[3])
  end
  return 'ok'
end
