-- session_close: session -> (nothing)
--
-- Ends a browser session; one that is gone already is fine.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] session  hash  removed
-- returns answer (ok)
-- flags allow-oom
local function session_close(K, A)
  redis.call('UNLINK', K.session)
  return 'ok'
end
