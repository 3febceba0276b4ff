-- login_attempt: attempts -> attempts + 1
--
-- Charges a login attempt before the password is looked at, so that attempts sent at the same time
-- count too. After some free failures each further attempt has to wait twice as long as the one
-- before: a backoff, never a lockout. A refused attempt is not charged.
--
-- KEYS[1] guard         none  never exists
-- KEYS[2] pair          hash  failures, until: this account from this address
-- KEYS[3] address       hash  failures, until: any account from this address
-- ARGV[1] pair_free     int   attempts of the pair without waiting
-- ARGV[2] address_free  int   attempts of the address without waiting
-- ARGV[3] base_ms       int   the first wait
-- ARGV[4] cap_ms        int   the longest wait
-- ARGV[5] forget_ms     int   forgotten after that long without an attempt
-- returns ms to wait, 0 if the attempt may go on
-- flags allow-oom
local function login_attempt(K, A)
  local base, cap, forget = tonumber(A[3]), tonumber(A[4]), tonumber(A[5])
  local places = { { K.pair, tonumber(A[1]) }, { K.address, tonumber(A[2]) } }
  local wait, failures = 0, {}
  for i, place in ipairs(places) do
    local known = redis.call('HMGET', place[1], 'failures', 'until')
    failures[i] = tonumber(known[1]) or 0
    wait = math.max(wait, (tonumber(known[2]) or 0) - NOW)
  end
  if wait > 0 then
    return wait
  end
  for i, place in ipairs(places) do
    local after = failures[i] + 1
    local over = after - place[2]
    -- The exponent is clamped: 2^20 s is far beyond any cap already.
    local pause = over >= 0 and math.min(cap, base * 2 ^ math.min(over, 20)) or 0
    redis.call('HSET', place[1], 'failures', text(after), 'until', text(NOW + pause))
    redis.call('PEXPIRE', place[1], text(forget))
  end
  return 0
end
