-- Which jobs a bulk operation is about, and how a step of the walk through a queue is taken down.

-- Which field of a record says since when the job is in its state. Retrying has none: its history knows.
local ENTERED = { ready = 'ready_at', running = 'started_at', scheduled = 'created_at', completed = 'finished_at',
  cancelled = 'finished_at', dead = 'finished_at' }

local function entered_at(id, state, values)
  if state == 'retrying' then
    local last = spare(redis.pcall('LINDEX', record_key(id) .. ':history', -1))
    local fine, attempt = pcall(cmsgpack.unpack, last)
    return fine and type(attempt) == 'table' and whole(attempt.e) or whole(values.started_at)
  end
  return whole(values[ENTERED[state]])
end

local function has_tag(tags, wanted)
  local fine, list = pcall(cjson.decode, tags)
  if fine and type(list) == 'table' then
    for _, tag in ipairs(list) do
      if tag == wanted then
        return true
      end
    end
  end
  return false
end

local function is_between(value, since, until_)
  if not since and not until_ then
    return true
  end
  local at = whole(value)
  return at > 0 and (not since or at >= since) and (not until_ or at < until_)
end

-- A job as it is written down, see version_of, if it matches and was in its state at `as_of` already; else nil.
local function chosen_entry(id, state, as_of, wanted)
  local found = read_record(id, 'rev', 'type', 'tags', 'created_at', 'finished_at', 'ready_at', 'started_at', 'fp',
    'error_kind', 'error', 'reason', 'last_op')
  if not found or (state and found[1] ~= state) or (wanted.states and not wanted.states[found[1]]) then
    return nil
  end
  local values = { created_at = found[5], finished_at = found[6], ready_at = found[7], started_at = found[8] }
  if (wanted.type and found[3] ~= wanted.type) or (wanted.group and found[9] ~= wanted.group)
      or (wanted.operation and found[13] ~= wanted.operation)
      or (wanted.tag and not has_tag(found[4], wanted.tag))
      or (wanted.error and not says(id, wanted.error, found[10], found[11], found[12]))
      or not is_between(values.created_at, wanted.created_since, wanted.created_until)
      or not is_between(values.finished_at, wanted.finished_since, wanted.finished_until)
      or entered_at(id, found[1], values) > as_of then
    return nil
  end
  return id .. ' ' .. version_of(found[2], found[5])
end

-- Writes down what one step found, and where the next one starts.
local function step_on(K, term, entries, searched, place, keep)
  local found = redis.call('HINCRBY', K.part, 'found', #entries)
  redis.call('HINCRBY', K.part, 'searched', searched)
  redis.call('HINCRBY', K.part, 'step', 1)
  redis.call('HSET', K.part, 'term', term, unpack(place))
  redis.call('PEXPIRE', K.part, keep)
  if #entries > 0 then
    redis.call('RPUSH', K.chosen, unpack(entries))
  end
  if found > 0 then
    redis.call('PEXPIRE', K.chosen, keep)
  end
  return part_answer(K, 'ok')
end

-- The word that keeps a step from being taken, or nil: another server leads, or it was taken before.
local function refusal(K, term, step)
  local part = redis.call('HMGET', K.part, 'term', 'step')
  redis.call('LLEN', K.chosen)
  if whole(part[1]) > whole(term) then
    return 'fenced'
  end
  return whole(part[2]) ~= whole(step) and 'already_done' or nil
end
