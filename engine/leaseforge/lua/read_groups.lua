-- read_groups: some of a queue's dead jobs by kind of error
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] groups hash dead groups: key -> title
-- ARGV[1...] group text its key; at most 100
-- returns per group that there is: key, title (three lines: job type, error kind, message), size, first and last death
-- flags no-writes
-- uses _queue
local function read_groups(K, A)
  local rows = {}
  for i = 1, #A do
    local key = PREFIX .. 'dead:group:' .. A[i]
    local size = spare(redis.pcall('ZCARD', key))
    if type(size) == 'number' and size > 0 then
      local title = spare(redis.pcall('HGET', K.groups, A[i]))
      rows[#rows + 1] = { A[i], type(title) == 'string' and title or '', size,
        redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2], redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] }
    end
  end
  return rows
end
