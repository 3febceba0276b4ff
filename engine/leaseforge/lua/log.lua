-- log: a running job adds lines to its log
--
-- Lines are numbered within an attempt, so that a repeated call adds nothing twice; the last 200
-- lines of a job are kept.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] counts hash totals
-- ARGV[1] id    text the job
-- ARGV[2] token text the token it was claimed with
-- ARGV[3] first int  number of the first line, from 1
-- ARGV[4...] line text
-- returns ok, cancelled (stored, but the handler is to stop), fenced
-- flags allow-oom
-- uses _queue
local function log(K, A)
  local id, token, first = A[1], A[2], tonumber(A[3])
  local values = read_record(id, 'token', 'cancel_requested', 'logged')
  if not values or values[1] ~= 'running' or values[2] ~= token then
    count('fenced')
    return 'fenced'
  end
  local fence = string.match(token, '^%d+')
  local logged_fence, logged = string.match(values[4] or '', '^(%d+):(%d+)$')
  local last = logged_fence == fence and tonumber(logged) or 0
  local key = record_key(id) .. ':log'
  for i = 4, #A do
    local number = first + i - 4
    if number > last then
      redis.call('RPUSH', key, cmsgpack.pack({ number, NOW, fence, A[i] }))
      last = number
    end
  end
  redis.call('LTRIM', key, -200, -1)
  redis.call('HSET', record_key(id), 'logged', fence .. ':' .. text(last))
  return values[3] == '1' and 'cancelled' or 'ok'
end
