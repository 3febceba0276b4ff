-- token_spend: token -> spent
--
-- Ends one access token before its time; says so if that was done before.
--
-- KEYS[1] guard   none    never exists
-- KEYS[2] spent   string  kept as long as the token would have been valid
-- ARGV[1] ttl_ms  int     what is left of the token's life, clock differences included
-- returns answer (ok, already_done)
-- flags allow-oom
local function token_spend(K, A)
  local fresh = redis.call('SET', K.spent, '1', 'NX', 'PX', text(tonumber(A[1])))
  return fresh and 'ok' or 'already_done'
end
