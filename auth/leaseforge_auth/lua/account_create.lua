-- account_create: (nothing) -> account
--
-- Makes an account of a name nobody has.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] accounts  set   usernames
-- KEYS[3] account   hash  password, roles, epoch, origin, disabled, created_at, changed_at, logged_out_at, last_login_at
-- ARGV[1] username  text
-- ARGV[2] password  text  argon2id hash, '' for an account that logs in elsewhere
-- ARGV[3] roles     text  separated by commas
-- ARGV[4] origin    text  cli, api or oidc
-- returns answer (created, conflict)
-- flags allow-oom
-- uses _account
local function account_create(K, A)
  if redis.call('EXISTS', K.account) == 1 then
    return 'conflict'
  end
  redis.call('SADD', K.accounts, A[1])
  redis.call('HSET', K.account, 'password', A[2], 'roles', A[3], 'epoch', text(NOW_US), 'origin', A[4],
    'created_at', text(NOW), 'changed_at', text(NOW))
  list_admin(A[1], A[3], '')
  return 'created'
end
