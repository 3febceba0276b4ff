-- recover: running with an expired lease -> ready | retrying | dead | cancelled
--
-- Takes back up to `limit` jobs whose lease is over. The first loss puts a job back at once in its
-- old place, a later one with backoff; more than `max_recoveries` make it poison. The retry budget
-- is never charged. After a gap in sweeping longer than half a lease nothing is taken for a third
-- of a lease, so that live workers can renew first: an outage is no mass double run. No second pause
-- follows within a lease, or 5 s if that is longer: workers of longer leases sweep every 2 s, and
-- each of their sweeps would be such a gap to a short lease.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] types     hash job types told apart in statistics
-- KEYS[5] ready     zset claimable jobs
-- KEYS[6] running   zset id -> lease expiry
-- KEYS[7] retrying  zset id -> due
-- KEYS[8] cancelled zset id -> finished
-- KEYS[9] dead      zset id -> finished
-- KEYS[10] groups    hash dead groups: key -> title
-- KEYS[11] wake      list wake token
-- ARGV[1] limit           int at most so many jobs, 1 to 200
-- ARGV[2] max_recoveries  int lost leases a job may have before it is poison
-- ARGV[3] backoff_base_ms int pause before the second recovery, doubled each time
-- ARGV[4] backoff_cap_ms  int longest pause
-- ARGV[5] spread          int 0 to 1000, thousandths of half a pause by which jobs come back apart
-- returns recovered (ready or retrying), dead, 1 if the limit was reached
-- flags allow-oom
-- uses _queue, _crash
-- Jobs that were lost together come back apart, and the next time in the opposite order: one of them
-- may have killed their worker, and the others must not be there each time it does.
local function apart(id, before, pause, spread)
  local share = tonumber(string.sub(redis.sha1hex(id), 1, 4), 16) / 65535
  if before % 2 == 0 then
    share = 1 - share
  end
  return math.floor(pause * (1 - spread / 1000 * share / 2))
end

local function may_recover(K)
  local meta = redis.call('HMGET', K.meta, 'lease_ms', 'swept_at', 'recover_from')
  local lease = tonumber(meta[1]) or 10000
  local swept, from = tonumber(meta[2]), tonumber(meta[3])
  local grace = math.floor(lease / 3)
  if swept and NOW - swept > lease / 2 and not (from and NOW - (from - grace) < math.max(lease, 5000)) then
    from = NOW + grace
    redis.call('HSET', K.meta, 'recover_from', text(from))
  end
  redis.call('HSET', K.meta, 'swept_at', text(NOW))
  return not from or NOW >= from
end

local function recover(K, A)
  check_sets(K)
  local limit, max_recoveries = tonumber(A[1]), tonumber(A[2])
  local base, cap, spread = tonumber(A[3]), tonumber(A[4]), tonumber(A[5])
  if not may_recover(K) then
    return { 0, 0, 0 }
  end
  local expired = redis.call('ZRANGE', K.running, '-inf', text(NOW), 'BYSCORE', 'LIMIT', 0, limit)
  local lost, corrupt = {}, {}
  for _, id in ipairs(expired) do
    local values, fault = read_record(id, 'token', 'started_at', 'worker', 'attempts', 'recoveries', 'rev',
      'priority', 'seq', 'cancel_requested', 'type', 'unique_key', 'traceparent')
    if not values then
      corrupt[#corrupt + 1] = { id, fault }
    elseif values[1] ~= 'running' then
      count('dropped')
    else
      lost[#lost + 1] = { id, values }
    end
  end

  local recovered, dead = 0, 0
  for _, job in ipairs(lost) do
    local id, values = job[1], job[2]
    local fields = { 'token', '', 'rev', text(whole(values[7]) + 1) }
    local function set(name, value)
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
    local before = whole(values[6])
    local pause = before > 0 and apart(id, before, math.min(cap, base * 2 ^ (before - 1)), spread) or nil
    local state = charge_crash(K, id, { recoveries = values[6], cancel_requested = values[10], type = values[11],
      priority = values[8], seq = values[9] }, max_recoveries, pause, set)
    set('state', state)
    if values[10] then
      redis.call('HDEL', record_key(id), 'cancel_requested')
    end
    if ENDED[state] then
      free_unique(id, values[12])
    end
    if state == 'dead' then
      dead = dead + 1
    elseif state ~= 'cancelled' then
      count('recovered')
      recovered = recovered + 1
    end
    redis.call('HSET', record_key(id), unpack(fields))
    tell_move('lost:' .. state, id, values[13], values[5])
    remember(id, { n = whole(values[5]), o = 'lost', w = values[4] or '', f = string.match(values[2] or '', '^%d*'),
      s = tonumber(values[3]) or NOW, e = NOW, k = 'lease_lost', m = 'the worker stopped renewing its lease', t = '' })
  end
  if #expired > 0 then
    redis.call('ZREM', K.running, unpack(expired))
  end
  for _, fault in ipairs(corrupt) do
    quarantine(K, fault[1], fault[2])
  end
  if #expired > 0 then
    wake_if_claimable(K)
  end
  return { recovered, dead + #corrupt, #expired == limit and 1 or 0 }
end
