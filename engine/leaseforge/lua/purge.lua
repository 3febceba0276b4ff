-- purge: ready -> gone
--
-- Removes one chunk of the ready jobs an operator was shown: those with a sequence up to
-- `sequence` that became ready no later than `as_of_ms`. What came later stays. The caller walks
-- on with the cursor that came back.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] counts hash totals
-- KEYS[3] ready  zset claimable jobs
-- ARGV[1] sequence int   the queue's sequence when the count was shown
-- ARGV[2] as_of_ms int   Redis time when the count was shown
-- ARGV[3] score    text  where to go on: a score bound, -inf at first
-- ARGV[4] skip     int   entries at that bound to pass over
-- returns removed, next score or empty when done, next skip
-- flags allow-oom
-- uses _queue
local function purge(K, A)
  local bound, as_of, skip = tonumber(A[1]), tonumber(A[2]), tonumber(A[4])
  local found = redis.call('ZRANGE', K.ready, A[3], '+inf', 'BYSCORE', 'LIMIT', skip, 200, 'WITHSCORES')
  local entries, ids, kept = {}, {}, {}
  local next_score, next_skip = '', 0
  for i = 1, #found, 2 do
    local entry, score = found[i], found[i + 1]
    local seq, id = whole(string.sub(entry, 1, 16)), entry_id(entry)
    if seq > bound then
      -- Inside one priority the sequences ascend: nothing behind it is older.
      next_score = '(' .. score
      break
    end
    local values = read_record(id, 'ready_at', 'seq', 'unique_key')
    local is_its_place = not values or (values[1] == 'ready' and ready_member(values[3], id) == entry)
    if values and is_its_place and whole(values[2]) > as_of then
      kept[score] = (kept[score] or 0) + 1
    else
      entries[#entries + 1] = entry
      if is_its_place then
        free_unique(id, values and values[4])
        ids[#ids + 1] = id
      else
        count('dropped')
      end
    end
  end
  if next_score == '' and #found == 400 then
    next_score = found[400]
    next_skip = (kept[next_score] or 0) + (next_score == A[3] and skip or 0)
  end
  if #entries > 0 then
    redis.call('ZREM', K.ready, unpack(entries))
    forget(ids)
    count('purged', #ids)
  end
  return { #ids, next_score, next_skip }
end
