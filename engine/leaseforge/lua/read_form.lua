-- read_form: what the payloads of a type look like
--
-- KEYS[1] forms hash type -> JSON Schema of its payloads
-- ARGV[1] type text the job type
-- returns the schema, or empty
-- flags no-writes
-- uses _queue
local function read_form(K, A)
  local form = spare(redis.pcall('HGET', K.forms, A[1]))
  return type(form) == 'string' and form or ''  -- a foreign key is no form
end
