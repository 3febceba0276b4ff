-- read_form: what the payloads of a type look like
--
-- KEYS[1] forms hash type -> JSON Schema of its payloads
-- ARGV[1] type text the job type
-- returns the schema, or empty
-- flags no-writes
local function read_form(K, A)
  return redis.call('HGET', K.forms, A[1]) or ''
end
