-- Put in front of every script by the loader: the clock and number text.
-- NOW is Redis TIME in ms, NOW_US in us, read once, so that one script sees one instant.
local NOW, NOW_US
do
  local t = redis.call('TIME')
  NOW_US = tonumber(t[1]) * 1000000 + tonumber(t[2])
  NOW = math.floor(NOW_US / 1000)
end

-- Lua's own conversion turns 1.7e14 into scientific notation; this never does, and costs half. For whole numbers.
local function text(n)
  return string.format('%d', n)
end

local NOW_TEXT = text(NOW)
