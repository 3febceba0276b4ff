-- forwarded: follow-ups leave the outbox, because their own queue has them or refuses them for good
--
-- A refusal is counted and noted in the log of the job that wrote the follow-up.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] counts hash totals
-- KEYS[3] outbox hash follow-ups for other queues
-- ARGV[1...] id text | parent text | refusal text or empty
-- returns how many left
-- flags allow-oom
-- uses _queue
local function forwarded(K, A)
  local left = 0
  for i = 1, #A, 3 do
    if redis.call('HDEL', K.outbox, A[i]) == 1 then
      left = left + 1
      if A[i + 2] == '' then
        count('forwarded')
      else
        refuse_follow_up(A[i + 1], A[i + 2])
      end
    end
  end
  return left
end
