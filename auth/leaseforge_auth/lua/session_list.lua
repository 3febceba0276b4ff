-- session_list: sessions -> sessions
--
-- An account's sessions, the newest first. Ended ones are left out.
--
-- KEYS[1] guard     none  never exists
-- KEYS[2] account   hash  epoch, disabled
-- KEYS[3] sessions  zset  digest -> created, of this account
-- returns digest, created_at, seen_at, address, agent each
-- flags no-writes
local function session_list(K, A)
  local reply = {}
  local known = redis.call('HMGET', K.account, 'epoch', 'disabled')
  for _, digest in ipairs(redis.call('ZREVRANGE', K.sessions, 0, -1)) do
    local session = redis.call('HMGET', string.sub(KEYS[1], 1, -6) .. 'session:' .. digest, 'epoch', 'created_at', 'seen_at',
      'address', 'agent')
    if session[1] and session[1] == known[1] and known[2] ~= '1' then
      reply[#reply + 1] = digest
      for i = 2, 5 do
        reply[#reply + 1] = session[i] or ''
      end
    end
  end
  return reply
end
