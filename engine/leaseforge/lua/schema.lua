-- schema: claims an empty store for this layout version, or says which version it has
--
-- KEYS[1] schema string the layout's version
-- ARGV[1] version int this program's layout version
-- returns the store's version
-- flags allow-oom
local function schema(K, A)
  redis.call('SETNX', K.schema, A[1])
  return redis.call('GET', K.schema)
end
