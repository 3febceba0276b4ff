-- audit_head: trail -> trail
--
-- Where the next entry of the audit trail is to be linked, and the clock. A head that is lost is
-- read from the last entry, so that a damaged trail can still be written to (and found damaged).
--
-- KEYS[1] guard    none    never exists
-- KEYS[2] entries  stream  <sequence>-0: body, mac, kid, action
-- KEYS[3] head     hash    sequence, mac, seal, anchor_sequence, anchor_mac, anchor_seal
-- returns NOW, then sequence, mac, seal, anchor sequence, anchor mac, anchor seal; '' for what is not there
-- flags no-writes
local function audit_head(K, A)
  local head = redis.call('HMGET', K.head, 'sequence', 'mac', 'seal', 'anchor_sequence', 'anchor_mac', 'anchor_seal')
  if not head[1] then
    local last = redis.call('XREVRANGE', K.entries, '+', '-', 'COUNT', 1)[1]
    if last then
      head[1] = string.match(last[1], '^%d+')
      for i = 1, #last[2], 2 do
        head[2] = last[2][i] == 'mac' and last[2][i + 1] or head[2]
      end
    end
  end
  local reply = { NOW }
  for i = 1, 6 do
    reply[#reply + 1] = head[i] or ''
  end
  return reply
end
