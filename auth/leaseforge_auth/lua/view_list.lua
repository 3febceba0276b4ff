-- view_list: views -> views
--
-- The saved views of an account, in no order.
--
-- KEYS[1] guard none  never exists
-- KEYS[2] views hash  id -> view, of this account
-- returns id, list, name, query each
-- flags no-writes
-- uses _views
local function view_list(K, A)
  local reply = {}
  local stored = redis.call('HGETALL', K.views)
  for i = 1, #stored, 2 do
    local _, list, name, query = view_of(stored[i + 1])
    if list then
      for _, value in ipairs({ stored[i], list, name, query }) do
        reply[#reply + 1] = value
      end
    end
  end
  return reply
end
