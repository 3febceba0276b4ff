-- view_delete: views -> views
--
-- Forgets a saved view.
--
-- KEYS[1] guard none  never exists
-- KEYS[2] views hash  id -> view, of this account
-- ARGV[1] id    text
-- returns answer (ok, not_found)
-- flags allow-oom
local function view_delete(K, A)
  return redis.call('HDEL', K.views, A[1]) == 1 and 'ok' or 'not_found'
end
