-- account_declare: (nothing) -> account; account of the settings -> the same with a new password or roles
--
-- Makes an account the settings name, or brings one that came from the settings up to date, which
-- ends its sessions and tokens. One that was changed in any other way since is left alone, and so
-- is one whose password hash is no longer the expected one: another server was faster.
--
-- KEYS[1] guard     none  never exists; lf:{sys}: is what stands before its name
-- KEYS[2] accounts  set   usernames
-- KEYS[3] account   hash  password, roles, epoch, origin, created_at, changed_at
-- ARGV[1] username  text
-- ARGV[2] expected  text  the password hash to replace, empty for a new account
-- ARGV[3] password  text  argon2id hash
-- ARGV[4] roles     text  separated by commas
-- returns answer (created, ok, conflict)
-- flags allow-oom
-- uses _account
local function account_declare(K, A)
  local username, expected, password, roles = A[1], A[2], A[3], A[4]
  local known = redis.call('HMGET', K.account, 'password', 'origin', 'epoch', 'disabled')
  if (known[1] or '') ~= expected or (known[1] and known[2] ~= 'settings') then
    return 'conflict'
  end
  -- Moves forward even for a name that is used again after a deletion: no old token fits.
  local epoch = math.max((tonumber(known[3]) or 0) + 1, NOW_US)
  redis.call('SADD', K.accounts, username)
  redis.call('HSET', K.account, 'password', password, 'roles', roles, 'epoch', text(epoch), 'origin', 'settings',
    'changed_at', text(NOW))
  redis.call('HSETNX', K.account, 'created_at', text(NOW))
  list_admin(username, roles, known[4])
  return known[1] and 'ok' or 'created'
end
