-- read_groups: the dead jobs of a queue by kind of error
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] groups hash dead groups: key -> title
-- returns per group: key, title (three lines: job type, error kind, message), size, first and last death
-- flags no-writes
-- uses _queue
local function read_groups(K, A)
  local titles = redis.call('HGETALL', K.groups)
  local rows = {}
  for i = 1, #titles, 2 do
    local key = PREFIX .. 'dead:group:' .. titles[i]
    local size = redis.call('ZCARD', key)
    if size > 0 then
      rows[#rows + 1] = { titles[i], titles[i + 1], size, redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2],
        redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] }
    end
  end
  return rows
end
