-- search_jobs: the next jobs of one set, from a place in it on, that match
--
-- Ready in claim order, scheduled and retrying by due time, running by lease expiry, ended ones newest first.
-- A place is a score and a member, and need not exist any more: what follows it is found by halving.
-- Looks at `look` jobs at most, and at none behind the `want`th that matches. An empty filter matches everything.
--
-- KEYS[1] guard  none  never exists, see _queue.lua
-- KEYS[2] set    zset  the state's set
-- ARGV[1] state           text  the state
-- ARGV[2] score           text  the place to go on behind; empty: from the beginning
-- ARGV[3] member          text  its member
-- ARGV[4] look            int   1 to 200
-- ARGV[5] want            int   1 to 100
-- ARGV[6] type            text  of this type
-- ARGV[7] tag             text  with this tag, as JSON
-- ARGV[8] created_by      text  enqueued by this caller
-- ARGV[9] words           text  in the error or reason, whatever the case of A to Z; in lower case
-- ARGV[10] priority_from   int   at least
-- ARGV[11] priority_to     int   at most
-- ARGV[12] created_from    int   ms, at or after
-- ARGV[13] created_before  int   ms
-- ARGV[14] finished_from   int   ms, at or after
-- ARGV[15] finished_before int   ms
-- ARGV[16] operation       text  this operator's action acted on it last
-- returns size of the set, how many were looked at, 1 if the set ends there, score and member of the last one looked at, per match: member, score, record fields and values
-- flags no-writes
-- uses _queue, _words
local ENDS = { completed = true, cancelled = true, dead = true }

-- By bytes, as sorted sets sort: Lua's own comparison follows the server's locale.
local function sorts_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- How many entries stand up to a place.
local function rank_behind(key, read, newest_first, score, member)
  local low, high = 0, redis.call('ZCARD', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local entry = redis.call(read, key, middle, middle, 'WITHSCORES')
    local at, is_behind = tonumber(entry[2]), nil
    if at == score then
      is_behind = newest_first and sorts_before(entry[1], member) or not newest_first and sorts_before(member, entry[1])
    else
      is_behind = (at < score) == newest_first
    end
    if is_behind then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

local function within(value, from, before)
  local at = whole(value)
  return (from == '' or at >= tonumber(from)) and (before == '' or at < tonumber(before))
end

-- Only the fields a filter asks about are read: each costs as much as the look at the job itself.
local function fields_of(A)
  local names = {}
  local function need(asked, ...)
    if asked ~= '' then
      for _, name in ipairs({ ... }) do
        names[#names + 1] = name
      end
    end
  end
  need(A[6], 'type')
  need(A[7], 'tags')
  need(A[8], 'created_by')
  need(A[9], 'error_kind', 'error', 'reason')
  need(A[10] .. A[11], 'priority')
  need(A[12] .. A[13], 'created_at')
  need(A[14] .. A[15], 'finished_at')
  need(A[16], 'last_op')
  return names
end

local function matches(A, id, names)
  local values = read_record(id, unpack(names))
  if not values then
    return false
  end
  local of = {}
  for i, name in ipairs(names) do
    of[name] = values[i + 1]
  end
  local tags = ',' .. string.sub(of.tags or '[]', 2, -2) .. ','
  return (A[6] == '' or of.type == A[6])
    and (A[7] == '' or string.find(tags, ',' .. A[7] .. ',', 1, true) ~= nil)
    and (A[8] == '' or of.created_by == A[8])
    and (A[16] == '' or of.last_op == A[16])
    and (A[10] == '' or whole(of.priority) >= tonumber(A[10]))
    and (A[11] == '' or whole(of.priority) <= tonumber(A[11]))
    and (A[12] == '' and A[13] == '' or within(of.created_at, A[12], A[13]))
    and (A[14] == '' and A[15] == '' or (of.finished_at and within(of.finished_at, A[14], A[15]) or false))
    and (A[9] == '' or says(id, A[9], of.error_kind, of.error, of.reason))
end

local function search_jobs(K, A)
  local state, look, want = A[1], tonumber(A[4]), tonumber(A[5])
  local newest_first = ENDS[state] or false
  local read = newest_first and 'ZREVRANGE' or 'ZRANGE'
  local size = spare(redis.pcall('ZCARD', K.set))
  if type(size) == 'table' then  -- a foreign key: whatever it holds, it is no jobs
    return { 0, 0, 1, '', '', {} }
  end
  local first = A[2] == '' and 0 or rank_behind(K.set, read, newest_first, tonumber(A[2]), A[3])
  local found = redis.call(read, K.set, first, first + look - 1, 'WITHSCORES')
  local names = fields_of(A)
  local jobs, looked = {}, 0
  for i = 1, #found, 2 do
    if #jobs == want then
      break
    end
    looked = looked + 1
    local id = state == 'ready' and entry_id(found[i]) or found[i]
    if #names == 0 or matches(A, id, names) then
      local record = redis.pcall('HGETALL', record_key(id))
      jobs[#jobs + 1] = { found[i], found[i + 1], record.err and {} or record }
    end
  end
  local last = 2 * looked
  local ends = first + looked >= size and 1 or 0
  return { size, looked, ends, last > 0 and found[last] or '', last > 0 and found[last - 1] or '', jobs }
end
