-- Looking for words in what a job failed with, whatever the case of A to Z; `words` are in lower case.

-- The record holds the beginning of the last error; the whole of a longer one is in the history.
local function says(id, words, kind, head, reason)
  local said = string.lower((kind or '') .. ': ' .. (head or '') .. '\n' .. (reason or ''))
  if string.find(said, words, 1, true) then
    return true
  end
  if #(head or '') < 56 then
    return false
  end
  local last = redis.pcall('LINDEX', record_key(id) .. ':history', -1)
  local is_read, entry = pcall(cmsgpack.unpack, type(last) == 'string' and last or '')
  local message = is_read and type(entry) == 'table' and entry.m
  return type(message) == 'string' and string.find(string.lower(message), words, 1, true) ~= nil
end
