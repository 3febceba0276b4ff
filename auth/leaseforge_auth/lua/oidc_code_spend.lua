-- oidc_code_spend: code -> (nothing)
--
-- Takes a one-time code back, and says whose login it stands for if the account is still what it was.
--
-- KEYS[1] guard  none  never exists
-- KEYS[2] code   hash  username, epoch
-- returns username, roles, epoch; nothing for a code that is not (or no longer) good
-- flags allow-oom
local function oidc_code_spend(K, A)
  local code = redis.call('HMGET', K.code, 'username', 'epoch')
  if not code[1] then
    return {}
  end
  local account = string.sub(KEYS[1], 1, -6) .. 'account:' .. code[1]
  local known = redis.call('HMGET', account, 'epoch', 'disabled', 'roles')
  redis.call('UNLINK', K.code)
  if known[1] ~= code[2] or known[2] == '1' then
    return {}
  end
  return { code[1], known[3] or '', known[1] }
end
