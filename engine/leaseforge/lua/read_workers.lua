-- read_workers: the reports of all workers, lost ones included, by id
--
-- In the place of a report that is of a foreign type there is none; read_foreign names the key.
--
-- KEYS[1] workers zset id -> last seen
-- ARGV[1] offset int workers to pass over
-- ARGV[2] limit  int at most so many, 1 to 1,000
-- returns now, total, then per worker: id, last seen, report
-- flags no-writes
-- uses _queue
local function read_workers(K, A)
  local rows = {}
  local found = redis.call('ZRANGE', K.workers, A[1], A[1] + A[2] - 1, 'REV', 'WITHSCORES')
  for i = 1, #found, 2 do
    local report = spare(redis.pcall('GET', 'lf:{sys}:worker:' .. found[i]))
    rows[#rows + 1] = { found[i], found[i + 1], type(report) == 'string' and report }
  end
  return { NOW, redis.call('ZCARD', K.workers), rows }
end
