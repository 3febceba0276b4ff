-- audit_append: trail -> trail + entries
--
-- Adds entries behind the head they were linked to; if another server was faster nothing is added.
-- Actions that have begun and not ended are remembered by name.
--
-- KEYS[1] guard    none    never exists
-- KEYS[2] entries  stream  <sequence>-0: body, mac, kid, action
-- KEYS[3] head     hash    sequence, mac, seal, anchor_sequence, anchor_mac, anchor_seal
-- KEYS[4] open     hash    action -> sequence of its intent
-- ARGV[1] sequence  int   the head's when the entries were linked
-- ARGV[2] mac       text  the head's
-- ARGV[3] seal      text  over the new head
-- ARGV[4...] body JSON | mac text | kid text | action text | step intent or outcome
-- returns answer (ok, conflict), NOW
-- flags allow-oom
local function audit_append(K, A)
  local head = redis.call('HMGET', K.head, 'sequence', 'mac')
  local last = redis.call('XREVRANGE', K.entries, '+', '-', 'COUNT', 1)[1]
  local newest = last and string.match(last[1], '^%d+') or '0'
  local sequence = tonumber(A[1])
  if (head[1] and (head[1] ~= A[1] or head[2] ~= A[2])) or sequence < tonumber(newest) then
    return { 'conflict', NOW }
  end
  for i = 4, #A, 5 do
    sequence = sequence + 1
    redis.call('XADD', K.entries, text(sequence) .. '-0', 'body', A[i], 'mac', A[i + 1], 'kid', A[i + 2], 'action', A[i + 3])
    if A[i + 4] == 'intent' then
      redis.call('HSET', K.open, A[i + 3], text(sequence))
    else
      redis.call('HDEL', K.open, A[i + 3])
    end
  end
  redis.call('HSET', K.head, 'sequence', text(sequence), 'mac', A[#A - 3], 'seal', A[3])
  return { 'ok', NOW }
end
