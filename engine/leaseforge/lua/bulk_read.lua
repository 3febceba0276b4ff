-- bulk_read: one bulk operation
--
-- KEYS[1] guard     none never exists
-- KEYS[2] operation hash the operation
-- returns fields and values, or empty
-- flags no-writes
-- uses _queue
local function bulk_read(K, A)
  local fields = spare(redis.pcall('HGETALL', K.operation))
  return fields.err and {} or fields  -- a foreign key is no operation
end
