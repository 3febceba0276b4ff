-- account_read: account -> account
--
-- What login needs to know of an account.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] account  hash  password, roles, epoch, origin, disabled
-- returns password hash, roles, epoch, origin, 1 if disabled; nothing for an unknown account
-- flags no-writes
local function account_read(K, A)
  local known = redis.call('HMGET', K.account, 'password', 'roles', 'epoch', 'origin', 'disabled')
  if not known[3] then
    return {}
  end
  return { known[1] or '', known[2] or '', known[3], known[4] or '', known[5] or '' }
end
