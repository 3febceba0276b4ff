-- oidc_sign_in: (nothing) -> account; account -> the same with the roles of this moment
--
-- The account of a person the provider vouches for, found by who they are there and by nothing else.
-- New roles end what was handed out before, also when none are left: then, and when the account is
-- disabled, nobody is let in. The last administrator can lose the role here: the provider decides.
--
-- KEYS[1] guard     none    never exists
-- KEYS[2] accounts  set     usernames
-- KEYS[3] person    string  username; named by the person's digest
-- ARGV[1] digest    text    of issuer and subject
-- ARGV[2] roles     text    separated by commas
-- ARGV[3] name      text    of a new account
-- ARGV[4] spare     text    the name if that is taken
-- returns answer (created, ok, refused: disabled, empty: no roles, conflict: both names are taken), username, epoch
-- flags allow-oom
-- uses _account
local function oidc_sign_in(K, A)
  local place = string.sub(KEYS[1], 1, -6) .. 'account:'
  local username = redis.call('GET', K.person)
  local known = username and redis.call('HMGET', place .. username, 'person', 'epoch', 'roles', 'disabled') or {}
  if known[1] == A[1] then
    local account, epoch = place .. username, known[2]
    if known[3] ~= A[2] then
      epoch = text(math.max((tonumber(epoch) or 0) + 1, NOW_US))
      redis.call('HSET', account, 'roles', A[2], 'epoch', epoch, 'changed_at', text(NOW))
      list_admin(username, A[2], known[4])
    end
    if known[4] == '1' then
      return { 'refused', username, epoch }
    end
    if A[2] == '' then
      return { 'empty', username, epoch }
    end
    redis.call('HSET', account, 'last_login_at', text(NOW))
    return { 'ok', username, epoch }
  end
  if A[2] == '' then
    return { 'empty', '', '' }
  end
  for _, name in ipairs({ A[3], A[4] }) do
    if redis.call('EXISTS', place .. name) == 0 then
      local epoch = text(NOW_US)
      redis.call('HSET', place .. name, 'password', '', 'roles', A[2], 'epoch', epoch, 'origin', 'oidc', 'person', A[1],
        'created_at', text(NOW), 'changed_at', text(NOW), 'last_login_at', text(NOW))
      redis.call('SADD', K.accounts, name)
      redis.call('SET', K.person, name)
      list_admin(name, A[2], '')
      return { 'created', name, epoch }
    end
  end
  return { 'conflict', '', '' }
end
