-- bulk_judge: jobs a bulk operation let run once more -> counted by what became of them
--
-- Looks at up to `limit` of the watched jobs, longest not looked at first. One that completed went
-- well; one that has failed since, whether it is dead or has tries left, failed again; one that is cancelled, gone
-- or was replayed by somebody else is no longer watched. Each is counted once.
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] part    hash the queue's part of the operation, see _bulk.lua
-- KEYS[3] watched zset jobs whose outcome is waited for, score: last looked at
-- ARGV[1] operation text the operation's id
-- ARGV[2] limit     int  at most so many jobs, 1 to 100
-- returns answer (ok, not_found), fields and values of the part
-- flags allow-oom
-- uses _queue, _bulk
local function bulk_judge(K, A)
  if redis.call('EXISTS', K.part) == 0 then
    return part_answer(K, 'not_found')
  end
  local ids = redis.call('ZRANGE', K.watched, 0, tonumber(A[2]) - 1)
  local well, again, leaving, later = 0, 0, {}, {}
  for _, id in ipairs(ids) do
    local values = read_record(id, 'last_op', 'failures')
    local is_ours = values and values[2] == A[1] and values[1] ~= 'cancelled'
    if is_ours and values[1] ~= 'completed' and values[1] ~= 'dead' and whole(values[3]) == 0 then
      later[#later + 1] = NOW_TEXT
      later[#later + 1] = id
    else
      leaving[#leaving + 1] = id
      well = well + (is_ours and values[1] == 'completed' and 1 or 0)
      again = again + (is_ours and values[1] ~= 'completed' and 1 or 0)
    end
  end
  if #later > 0 then
    redis.call('ZADD', K.watched, 'XX', unpack(later))
  end
  if #leaving > 0 then
    redis.call('ZREM', K.watched, unpack(leaving))
    redis.call('HINCRBY', K.part, 'well', well)
    redis.call('HINCRBY', K.part, 'again', again)
  end
  return part_answer(K, 'ok')
end
