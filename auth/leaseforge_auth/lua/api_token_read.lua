-- api_token_read: api token -> api token
--
-- What the bearer of an API token may do now. A personal one counts only as long as its account is
-- there, enabled, and was not logged out everywhere since. Its use is noted once a minute.
--
-- KEYS[1] guard   none  never exists
-- KEYS[2] token   hash  digest, name, kind, owner, roles, permissions, created_at, expires_at, last_used_at
-- ARGV[1] digest  text  sha256 of the secret that was shown
-- returns name, kind, owner, roles, permissions, expires_at, the account's roles; nothing for an unknown one
-- flags allow-oom
local function api_token_read(K, A)
  local token = redis.call('HMGET', K.token, 'digest', 'name', 'kind', 'owner', 'roles', 'permissions', 'created_at',
    'expires_at', 'last_used_at')
  if not token[1] or token[1] ~= A[1] then
    return {}
  end
  local expires, roles = tonumber(token[8]) or 0, ''
  if expires > 0 and expires <= NOW then
    return {}
  end
  if token[3] ~= 'service' then
    -- The token names its account; the key lies in the same slot as every other key of lf:{sys}.
    local account = string.sub(KEYS[1], 1, -6) .. 'account:' .. (token[4] or '')
    local known = redis.call('HMGET', account, 'epoch', 'disabled', 'created_at', 'logged_out_at', 'roles')
    local created = tonumber(token[7]) or 0
    if not known[1] or known[2] == '1' or created < (tonumber(known[3]) or 0) or created <= (tonumber(known[4]) or 0) then
      return {}
    end
    roles = known[5] or ''
  end
  if NOW - (tonumber(token[9]) or 0) >= 60000 then
    redis.call('HSET', K.token, 'last_used_at', text(NOW))
  end
  return { token[2] or '', token[3] or '', token[4] or '', token[5] or '', token[6] or '', text(expires), roles }
end
