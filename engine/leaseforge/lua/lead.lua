-- lead: one process at a time does a job that all of them could
--
-- Whoever asks first holds the office and keeps it by asking again; each change of hands raises the
-- term, which the holder's writes may carry.
--
-- KEYS[1] office hash who holds it, until when, which term
-- ARGV[1] holder text this process
-- ARGV[2] ttl_ms int  the office is free this long after its holder was last heard of
-- returns the term if this process holds the office, else 0
-- flags allow-oom
local function lead(K, A)
  local office = redis.call('HMGET', K.office, 'holder', 'till', 'term')
  local term = tonumber(office[3]) or 0
  if office[1] ~= A[1] then
    if office[1] and NOW < (tonumber(office[2]) or 0) then
      return 0
    end
    term = term + 1
  end
  redis.call('HSET', K.office, 'holder', A[1], 'till', text(NOW + tonumber(A[2])), 'term', text(term))
  return term
end
