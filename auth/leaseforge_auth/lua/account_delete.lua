-- account_delete: account -> (nothing)
--
-- Removes an account with its personal API tokens and saved views; service tokens it made live on. Its
-- sessions and access tokens find no account any more.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] accounts  set   usernames
-- KEYS[3] account   hash  removed
-- KEYS[4] tokens    zset  id -> created, of all
-- KEYS[5] owned     zset  id -> created, of this account
-- KEYS[6] sessions  zset  digest -> created, of this account
-- KEYS[7] views     hash  id -> saved view, of this account
-- ARGV[1] username  text
-- returns answer (ok, not_found, refused: the last administrator)
-- flags allow-oom
-- uses _account
local function account_delete(K, A)
  if redis.call('EXISTS', K.account) == 0 then
    return 'not_found'
  end
  if is_last_admin(A[1]) then
    return 'refused'
  end
  local place = string.sub(KEYS[1], 1, -6)
  for _, id in ipairs(redis.call('ZRANGE', K.owned, 0, -1)) do
    if redis.call('HGET', place .. 'token:' .. id, 'kind') ~= 'service' then
      redis.call('UNLINK', place .. 'token:' .. id)
      redis.call('ZREM', K.owned, id)
      redis.call('ZREM', K.tokens, id)
    end
  end
  for _, digest in ipairs(redis.call('ZRANGE', K.sessions, 0, -1)) do
    redis.call('UNLINK', place .. 'session:' .. digest)
  end
  redis.call('UNLINK', K.account, K.sessions, K.owned, K.views)
  redis.call('SREM', K.accounts, A[1])
  list_admin(A[1], '', '1')
  return 'ok'
end
