-- api_token_list: api tokens -> api tokens
--
-- A page of API tokens, the newest first, without anything one could use them with.
--
-- KEYS[1] guard   none  never exists
-- KEYS[2] list    zset  id -> created, of all or of one owner
-- ARGV[1] offset  int
-- ARGV[2] count   int
-- returns how many there are, then id, name, kind, owner, roles, permissions, created_at, expires_at, last_used_at each
-- flags no-writes
local function api_token_list(K, A)
  local reply = { redis.call('ZCARD', K.list) }
  local last = tonumber(A[1]) + tonumber(A[2]) - 1
  for _, id in ipairs(redis.call('ZREVRANGE', K.list, A[1], text(last))) do
    local token = redis.call('HMGET', string.sub(KEYS[1], 1, -6) .. 'token:' .. id, 'name', 'kind', 'owner', 'roles',
      'permissions', 'created_at', 'expires_at', 'last_used_at')
    if token[1] then
      reply[#reply + 1] = id
      for i = 1, 8 do
        reply[#reply + 1] = token[i] or ''
      end
    end
  end
  return reply
end
