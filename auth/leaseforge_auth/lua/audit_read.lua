-- audit_read: trail -> trail
--
-- A stretch of the audit trail.
--
-- KEYS[1] guard    none    never exists
-- KEYS[2] entries  stream  <sequence>-0: body, mac, kid, action
-- KEYS[3] open     hash    action -> sequence of its intent
-- ARGV[1] from      int   sequence to begin with, included
-- ARGV[2] count     int   at most so many
-- ARGV[3] backward  int   1: newer ones first
-- returns how many entries there are, then sequence, body, mac, kid, 1 if this is an intent still without outcome
-- flags no-writes
local function audit_read(K, A)
  local entries
  if A[3] == '1' then
    entries = redis.call('XREVRANGE', K.entries, A[1] .. '-0', '-', 'COUNT', A[2])
  else
    entries = redis.call('XRANGE', K.entries, A[1] .. '-0', '+', 'COUNT', A[2])
  end
  local reply = { redis.call('XLEN', K.entries) }
  for _, entry in ipairs(entries) do
    local fields = {}
    for i = 1, #entry[2], 2 do
      fields[entry[2][i]] = entry[2][i + 1]
    end
    local sequence = string.match(entry[1], '^%d+')
    reply[#reply + 1] = sequence
    reply[#reply + 1] = fields.body or ''
    reply[#reply + 1] = fields.mac or ''
    reply[#reply + 1] = fields.kid or ''
    reply[#reply + 1] = redis.call('HGET', K.open, fields.action or '') == sequence and 1 or 0
  end
  return reply
end
