-- api_token_create: (nothing) -> api token
--
-- Stores a new API token, of which only the digest is known here. A service token's name is its own
-- as long as it lives. Tokens that have expired are taken off the lists.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] tokens   zset  id -> created, of all
-- KEYS[3] owned    zset  id -> created, of this owner
-- KEYS[4] services hash  name -> id of service tokens
-- KEYS[5] token    hash  digest, name, kind, owner, roles, permissions, created_at, expires_at, last_used_at
-- ARGV[1] id          text
-- ARGV[2] digest      text  sha256 of the secret
-- ARGV[3] name        text
-- ARGV[4] kind        text  personal or service
-- ARGV[5] owner       text  the account it acts for, of a service token the account that made it
-- ARGV[6] roles       text  separated by commas
-- ARGV[7] permissions text  separated by commas
-- ARGV[8] ttl_ms      int   0 for a token that does not expire
-- ARGV[9] most        int   tokens one owner may have
-- returns answer (created, conflict: the name is taken, refused: too many), NOW
-- flags allow-oom
local function api_token_create(K, A)
  local token = string.sub(K.token, 1, #K.token - #A[1])
  for _, id in ipairs(redis.call('ZRANGE', K.owned, 0, -1)) do
    if redis.call('EXISTS', token .. id) == 0 then
      redis.call('ZREM', K.owned, id)
      redis.call('ZREM', K.tokens, id)
    end
  end
  if redis.call('ZCARD', K.owned) >= tonumber(A[9]) then
    return { 'refused', NOW }
  end
  local ttl = tonumber(A[8])
  if A[4] == 'service' then
    local known = redis.call('HGET', K.services, A[3])
    if known and redis.call('EXISTS', token .. known) == 1 then
      return { 'conflict', NOW }
    end
    redis.call('HSET', K.services, A[3], A[1])
  end
  redis.call('HSET', K.token, 'digest', A[2], 'name', A[3], 'kind', A[4], 'owner', A[5], 'roles', A[6],
    'permissions', A[7], 'created_at', text(NOW), 'expires_at', text(ttl > 0 and NOW + ttl or 0))
  if ttl > 0 then
    redis.call('PEXPIRE', K.token, text(ttl))
  end
  redis.call('ZADD', K.owned, text(NOW), A[1])
  redis.call('ZADD', K.tokens, text(NOW), A[1])
  return { 'created', NOW }
end
