-- token_read: account -> account
--
-- What the account behind a valid access token may do now, and whether the token was given up.
--
-- KEYS[1] guard    none    never exists
-- KEYS[2] account  hash    roles, epoch, disabled
-- KEYS[3] spent    string  exists for a token that was logged out
-- returns roles, epoch; nothing for an unknown or disabled account or a spent token
-- flags no-writes
local function token_read(K, A)
  local known = redis.call('HMGET', K.account, 'roles', 'epoch', 'disabled')
  if not known[2] or known[3] == '1' or redis.call('EXISTS', K.spent) == 1 then
    return {}
  end
  return { known[1] or '', known[2] }
end
