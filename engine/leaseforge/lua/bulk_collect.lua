-- bulk_collect: a queue's jobs in one state -> written down for a bulk operation
--
-- Looks at the next `limit` entries of one set and writes down, with their rev, the jobs that match and
-- were in that state at `as_of_ms` already. No job is changed. Where the walk stands is kept with what it
-- found: a step sent again looks at nothing, and another server goes on from there.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] set    zset the state's set, or one of its dead groups
-- KEYS[3] part   hash the queue's part of the operation, see _bulk.lua
-- KEYS[4] chosen list id and rev of the jobs written down
-- KEYS[5] seen   set  running jobs looked at: renewals move them ahead of the walk
-- ARGV[1] term     int     the runner's term; an earlier one is refused
-- ARGV[2] step     int     number of this step of the walk
-- ARGV[3] state    text    the state
-- ARGV[4] as_of_ms int     Redis time when the operation was asked for
-- ARGV[5] limit    int     at most so many entries, 1 to 100
-- ARGV[6] most     int     at most so many jobs are written down
-- ARGV[7] wanted   msgpack map of what the jobs must be
-- ARGV[8] keep_ms  int     how long the part is kept
-- returns answer (ok, already_done, fenced), fields and values of the part
-- flags allow-oom
-- uses _queue, _words, _bulk, _bulk_choice

-- The rank behind a place of the walk, whether the entry that was there is still in the set or not.
local function rank_behind(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] <= member then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Those of the entries that no earlier step of the walk has met.
local function not_seen(K, entries, keep)
  local fresh = {}
  for _, entry in ipairs(entries) do
    if redis.call('SADD', K.seen, entry) == 1 then
      fresh[#fresh + 1] = entry
    end
  end
  redis.call('PEXPIRE', K.seen, keep)
  return fresh
end

local function bulk_collect(K, A)
  local word = refusal(K, A[1], A[2])
  if word then
    return part_answer(K, word)
  end
  local state, as_of, limit, most, wanted = A[3], tonumber(A[4]), tonumber(A[5]), tonumber(A[6]), cmsgpack.unpack(A[7])
  local place = redis.call('HMGET', K.part, 'score', 'member', 'stage')
  local from = (place[1] or '') ~= '' and rank_behind(K.set, place[1], place[2]) or 0
  local found = redis.call('ZRANGE', K.set, from, from + limit - 1, 'WITHSCORES')
  redis.call('SCARD', K.seen)

  local entries, searched, is_over = {}, 0, #found < 2 * limit
  local score, member = '', ''
  for i = 1, #found, 2 do
    -- Ended jobs stand in the order of their end: whatever is behind ended later still.
    if ENDED[state] and tonumber(found[i + 1]) > as_of then
      is_over = true
      break
    end
    if #entries == most then
      is_over = false
      break
    end
    member, score = found[i], found[i + 1]
    searched = searched + 1
    local id = state == 'ready' and entry_id(member) or member
    local entry = chosen_entry(id, state, as_of, wanted)
    if entry then
      entries[#entries + 1] = entry
    end
  end
  if state == 'running' then
    entries = not_seen(K, entries, A[8])
  end
  if is_over then
    redis.call('UNLINK', K.seen)
    return step_on(K, A[1], entries, searched, { 'stage', text(whole(place[3]) + 1), 'score', '', 'member', '' }, A[8])
  end
  return step_on(K, A[1], entries, searched, { 'score', score, 'member', member }, A[8])
end
