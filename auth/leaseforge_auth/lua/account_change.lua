-- account_change: account -> account
--
-- Changes what an account may do or how it logs in, which ends its sessions and access tokens: they
-- carry the epoch of their login. The last enabled administrator stays one.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] account   hash  password, roles, epoch, origin, disabled, created_at, changed_at, logged_out_at, last_login_at
-- ARGV[1] username  text
-- ARGV[2] expected  text  the epoch that was read before, '' for any
-- ARGV[3] everywhere int  1: API tokens of the account end, too
-- ARGV[4...] field roles, disabled or password | value text
-- returns answer (ok, not_found, conflict: changed meanwhile, refused: the last administrator)
-- flags allow-oom
-- uses _account
local function account_change(K, A)
  local known = redis.call('HMGET', K.account, 'epoch', 'roles', 'disabled')
  if not known[1] then
    return 'not_found'
  end
  if A[2] ~= '' and known[1] ~= A[2] then
    return 'conflict'
  end
  local roles, disabled, fields = known[2] or '', known[3] or '', {}
  for i = 4, #A, 2 do
    fields[#fields + 1] = A[i]
    fields[#fields + 1] = A[i + 1]
    if A[i] == 'roles' then
      roles = A[i + 1]
    elseif A[i] == 'disabled' then
      disabled = A[i + 1]
    end
  end
  if (not is_admin(roles) or disabled == '1') and is_last_admin(A[1]) then
    return 'refused'
  end
  fields[#fields + 1] = 'epoch'
  fields[#fields + 1] = text(math.max((tonumber(known[1]) or 0) + 1, NOW_US))
  fields[#fields + 1] = 'changed_at'
  fields[#fields + 1] = text(NOW)
  if A[3] == '1' then
    fields[#fields + 1] = 'logged_out_at'
    fields[#fields + 1] = text(NOW)
  end
  redis.call('HSET', K.account, unpack(fields))
  list_admin(A[1], roles, disabled)
  return 'ok'
end
