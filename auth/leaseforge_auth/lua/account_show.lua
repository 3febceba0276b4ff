-- account_show: account -> account
--
-- One account as lists show it.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] account  hash  password, roles, epoch, origin, disabled, created_at, changed_at, logged_out_at, last_login_at
-- ARGV[1] username text
-- returns username, has a password, roles, origin, disabled, created_at, changed_at, last_login_at, epoch; nothing without one
-- flags no-writes
-- uses _account
local function account_show(K, A)
  return shown_account(A[1], K.account) or {}
end
