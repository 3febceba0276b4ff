-- read_group_sizes: how many dead jobs each kind of error of a queue has
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] groups hash dead groups: key -> title
-- returns key and size of each group
-- flags no-writes
-- uses _queue
local function read_group_sizes(K, A)
  local keys = spare(redis.pcall('HKEYS', K.groups))
  local sizes = {}
  for _, key in ipairs(keys.err and {} or keys) do
    local size = spare(redis.pcall('ZCARD', PREFIX .. 'dead:group:' .. key))
    if type(size) == 'number' and size > 0 then
      sizes[#sizes + 1] = key
      sizes[#sizes + 1] = size
    end
  end
  return sizes
end
