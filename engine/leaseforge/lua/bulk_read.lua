-- bulk_read: one bulk operation
--
-- KEYS[1] guard     none never exists
-- KEYS[2] operation hash the operation
-- returns fields and values, or empty
-- flags no-writes
local function bulk_read(K, A)
  return redis.call('HGETALL', K.operation)
end
