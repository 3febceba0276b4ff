-- audit_trim: trail -> shorter trail
--
-- Drops up to 200 of the oldest entries. The last one dropped stays behind as the anchor the rest is linked to.
--
-- KEYS[1] guard    none    never exists
-- KEYS[2] entries  stream  <sequence>-0: body, mac, kid, action
-- KEYS[3] head     hash    sequence, mac, seal, anchor_sequence, anchor_mac, anchor_seal
-- KEYS[4] open     hash    action -> sequence of its intent
-- ARGV[1] sequence  int   the last entry to drop
-- ARGV[2] mac       text  its mac
-- ARGV[3] seal      text  over both
-- returns answer (ok, conflict)
-- flags allow-oom
local function audit_trim(K, A)
  local last = redis.call('XRANGE', K.entries, A[1] .. '-0', A[1] .. '-0')[1]
  if not last or #redis.call('XRANGE', K.entries, '-', A[1] .. '-0', 'COUNT', 201) > 200 then
    return 'conflict'
  end
  for _, entry in ipairs(redis.call('XRANGE', K.entries, '-', A[1] .. '-0')) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'action' and redis.call('HGET', K.open, entry[2][i + 1]) == string.match(entry[1], '^%d+') then
        redis.call('HDEL', K.open, entry[2][i + 1])
      end
    end
  end
  redis.call('XTRIM', K.entries, 'MINID', text(tonumber(A[1]) + 1) .. '-0')
  redis.call('HSET', K.head, 'anchor_sequence', A[1], 'anchor_mac', A[2], 'anchor_seal', A[3])
  return 'ok'
end
