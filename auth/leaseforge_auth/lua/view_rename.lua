-- view_rename: views -> views
--
-- Gives a saved view another name.
--
-- KEYS[1] guard none  never exists
-- KEYS[2] views hash  id -> view, of this account
-- ARGV[1] id    text
-- ARGV[2] name  text  one line
-- returns answer (ok, not_found, conflict: the name is taken)
-- flags allow-oom
-- uses _views
local function view_rename(K, A)
  local at, list, _, query = view_of(redis.call('HGET', K.views, A[1]))
  if not at then
    return 'not_found'
  end
  if is_name_taken(K.views, A[1], list, A[2]) then
    return 'conflict'
  end
  redis.call('HSET', K.views, A[1], at .. '\n' .. list .. '\n' .. A[2] .. '\n' .. query)
  return 'ok'
end
