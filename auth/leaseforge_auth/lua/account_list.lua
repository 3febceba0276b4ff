-- account_list: accounts -> accounts
--
-- A page of accounts by name, without their password hashes.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] accounts  set   usernames
-- ARGV[1] offset  int
-- ARGV[2] count   int
-- returns how many there are, then username, has a password, roles, origin, disabled, created_at, changed_at, last_login_at, epoch each
-- flags no-writes
-- uses _account
local function account_list(K, A)
  local names = redis.call('SMEMBERS', K.accounts)
  table.sort(names)
  local reply = { #names }
  for i = tonumber(A[1]) + 1, math.min(#names, tonumber(A[1]) + tonumber(A[2])) do
    for _, value in ipairs(shown_account(names[i], string.sub(KEYS[1], 1, -6) .. 'account:' .. names[i]) or {}) do
      reply[#reply + 1] = value
    end
  end
  return reply
end
