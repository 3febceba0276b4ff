-- login_success: attempts -> fewer attempts
--
-- The password was right: the account's attempts from this address are forgotten, the address gets
-- back the one it was charged. It does not get back more, or one account of an attacker's own
-- would pay for guessing all others.
--
-- KEYS[1] guard    none  never exists
-- KEYS[2] pair     hash  removed
-- KEYS[3] address  hash  failures, until
-- returns answer (ok)
-- flags allow-oom
local function login_success(K, A)
  redis.call('UNLINK', K.pair)
  if (tonumber(redis.call('HGET', K.address, 'failures')) or 0) > 0 then
    redis.call('HINCRBY', K.address, 'failures', -1)
    redis.call('HDEL', K.address, 'until')
  end
  return 'ok'
end
