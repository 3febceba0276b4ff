-- read_outbox: some of the follow-ups that wait to be forwarded to other queues, in no order
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] outbox hash follow-ups for other queues
-- ARGV[1] limit int at most so many, 1 to 200
-- returns size of the outbox, packed follow-ups
-- flags no-writes
-- uses _queue
local function read_outbox(K, A)
  local flat = redis.call('HRANDFIELD', K.outbox, A[1], 'WITHVALUES')
  local entries = {}
  for i = 2, #flat, 2 do
    entries[#entries + 1] = flat[i]
  end
  return { redis.call('HLEN', K.outbox), entries }
end
