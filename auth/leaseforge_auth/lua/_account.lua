-- What the scripts of accounts share. The enabled administrators are listed apart, so that the last one is known.
local function admins_key()
  return string.sub(KEYS[1], 1, -6) .. 'admins'
end

local function is_admin(roles)
  return string.find(',' .. (roles or '') .. ',', ',admin,', 1, true) ~= nil
end

local function list_admin(username, roles, disabled)
  if is_admin(roles) and disabled ~= '1' then
    redis.call('SADD', admins_key(), username)
  else
    redis.call('SREM', admins_key(), username)
  end
end

-- Whether nobody could run the place without this account.
local function is_last_admin(username)
  local key = admins_key()
  return redis.call('SCARD', key) == 1 and redis.call('SISMEMBER', key, username) == 1
end

-- An account without its password hash, or nil.
local function shown_account(username, key)
  local known = redis.call('HMGET', key, 'epoch', 'password', 'roles', 'origin', 'disabled', 'created_at', 'changed_at',
    'last_login_at')
  if not known[1] then
    return nil
  end
  return { username, (known[2] or '') ~= '' and '1' or '', known[3] or '', known[4] or '', known[5] or '', known[6] or '',
    known[7] or '', known[8] or '', known[1] }
end
