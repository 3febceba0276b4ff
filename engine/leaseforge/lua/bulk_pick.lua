-- bulk_pick: named jobs -> written down for a bulk operation
--
-- Like bulk_collect for jobs that are named: those of this queue that match and were in their state at
-- `as_of_ms` already are written down with their rev. No job is changed. A step sent again does nothing.
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] part   hash the queue's part of the operation, see _bulk.lua
-- KEYS[3] chosen list id and rev of the jobs written down
-- ARGV[1] term     int     the runner's term; an earlier one is refused
-- ARGV[2] step     int     number of this step
-- ARGV[3] as_of_ms int     Redis time when the operation was asked for
-- ARGV[4] wanted   msgpack map of what the jobs must be
-- ARGV[5] keep_ms  int     how long the part is kept
-- ARGV[6] stage    int     the part's stage after this step
-- ARGV[7...] id text
-- returns answer (ok, already_done, fenced), fields and values of the part
-- flags allow-oom
-- uses _queue, _words, _bulk, _bulk_choice
local function bulk_pick(K, A)
  local word = refusal(K, A[1], A[2])
  if word then
    return part_answer(K, word)
  end
  local as_of, wanted, entries = tonumber(A[3]), cmsgpack.unpack(A[4]), {}
  for i = 7, #A do
    entries[#entries + 1] = chosen_entry(A[i], nil, as_of, wanted)
  end
  return step_on(K, A[1], entries, #A - 6, { 'stage', A[6] }, A[5])
end
