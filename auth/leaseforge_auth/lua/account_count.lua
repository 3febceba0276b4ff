-- account_count: accounts -> accounts
--
-- Whether anybody could log in at all.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] accounts  set   usernames
-- returns number of accounts
-- flags no-writes
local function account_count(K, A)
  return redis.call('SCARD', K.accounts)
end
