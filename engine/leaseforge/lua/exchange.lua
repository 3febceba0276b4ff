-- exchange: settle, promote and claim in one trip
--
-- What ended is settled, what is due becomes ready, then new work is claimed, in that order, each
-- part answering on its own: a fault in one takes nothing from the others. One exchange per queue
-- and run is in flight at a time; sent again with the same number it is safe (see claim).
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] types     hash job types told apart in statistics
-- KEYS[5] ready     zset claimable jobs
-- KEYS[6] running   zset id -> lease expiry
-- KEYS[7] scheduled zset id -> due
-- KEYS[8] retrying  zset id -> due
-- KEYS[9] completed zset id -> finished
-- KEYS[10] cancelled zset id -> finished
-- KEYS[11] dead      zset id -> finished
-- KEYS[12] groups    hash dead groups: key -> title
-- KEYS[13] wake      list wake token
-- KEYS[14] outbox    hash follow-ups for other queues
-- KEYS[15] claim     string this run's last claim: number, ids, tokens
-- ARGV[1] run_id   text  the worker's run id
-- ARGV[2] number   int   the exchange's number within the run and queue
-- ARGV[3] lease_ms int   length of the lease
-- ARGV[4] want     int   at most so many jobs, 0 to 200
-- ARGV[5...] id text | token text | outcome text | result bytes | detail msgpack map or empty | follow_ups packed jobs or empty
-- returns {1, settle's reply}, {1, promoted}, {1, claim's reply}; {0, error text} for a part that failed; moves if any
-- flags allow-oom
-- uses _queue, _crash, enqueue, settle, promote, claim
local function part(transition, K, A)
  local fine, reply = pcall(transition, K, A)
  if fine then
    return { 1, reply }
  end
  return { 0, type(reply) == 'table' and reply.err or tostring(reply) }
end

local function exchange(K, A)
  wakes_later = true
  local settled = #A > 4 and part(settle, K, { unpack(A, 5) }) or { 1, {} }
  local promoted = part(promote, K, { '200' })
  wakes_later = false
  local claimed = part(claim, K, { A[1], A[2], A[3], A[4] })
  return { settled, promoted, claimed, moves }
end
