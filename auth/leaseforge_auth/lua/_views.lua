-- What the scripts of saved views share. A view is one field: id -> when, list, name and query, a line each.
local function view_of(value)
  return string.match(value or '', '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
end

-- Whether another view of this list has the name already.
local function is_name_taken(key, id, list, name)
  local stored = redis.call('HGETALL', key)
  for i = 1, #stored, 2 do
    local _, its_list, its_name = view_of(stored[i + 1])
    if stored[i] ~= id and its_list == list and its_name == name then
      return true
    end
  end
  return false
end
