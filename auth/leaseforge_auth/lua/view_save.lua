-- view_save: views -> views
--
-- Keeps a list's filter under a name, beside the account it belongs to.
--
-- KEYS[1] guard   none  never exists
-- KEYS[2] account hash  epoch
-- KEYS[3] views   hash  id -> view, of this account
-- ARGV[1] id      text
-- ARGV[2] list    text  which list it is a filter of
-- ARGV[3] name    text  one line
-- ARGV[4] query   text  one line
-- ARGV[5] most    int   views an account may keep
-- returns answer (created, not_found: no such account, conflict: the name is taken, refused: too many)
-- flags allow-oom
-- uses _views
local function view_save(K, A)
  if redis.call('EXISTS', K.account) == 0 then
    return 'not_found'
  end
  if is_name_taken(K.views, A[1], A[2], A[3]) then
    return 'conflict'
  end
  if redis.call('HLEN', K.views) >= tonumber(A[5]) then
    return 'refused'
  end
  redis.call('HSET', K.views, A[1], text(NOW) .. '\n' .. A[2] .. '\n' .. A[3] .. '\n' .. A[4])
  return 'created'
end
