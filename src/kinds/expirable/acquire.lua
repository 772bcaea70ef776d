-- Acquires permits with a lease, or confirms them.
--
-- For semaphore i of k:
--   KEYS[3i-2]   name of the semaphore: a string, how many permits are left
--   KEYS[3i-1]   leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   KEYS[3i]     wish of one who waits for several: for a while it keeps others out
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[3]      how far clocks may be apart, ms. Others end leases by clocks of their own: ours are
--                written so much longer, and theirs are ended so much later (see ours.lua)
--   ARGV[1+3i]   the permits, 16 bytes each
--   ARGV[2+3i]   channel on which permits are announced that others left to end
--   ARGV[3+3i]   1 if the caller waits for several, and may wish for them
--
-- Returns TIME in µs, and nothing else if all are held now, for the lease. Otherwise an array of it and
-- two integers for each semaphore:
--    1, ms         held by this holder now
--    0, ms         fewer are left, or there is no such semaphore; the next lease may be ended in so many
--                  ms, -1 if there is none; or a wish stands: to be asked again in so many ms
--   -1, 0          stale: the stamp is over; nothing was changed
--   -2, 0          a key is of another type, or no number; neither was touched
--   -6, ms         fewer are left, and a wish is to be withdrawn
--   error, 0       a command failed for want of memory or of a right: what was written for this
--                  semaphore is taken back, and the others go on

-- The usual case first, one permit of a semaphore that has some, and without functions, which each call
-- would make anew: those for what is in the way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local lease_ms, in_time, skew_ms = tonumber(args[1]), now <= tonumber(args[2]), tonumber(args[3])
local until_ms = now_ms + lease_ms + skew_ms
local left
for i = 1, #keys / 3 do
  local key, leases, id = keys[3 * i - 2], keys[3 * i - 1], args[3 * i + 1]
  -- The semaphore, or a wish: how many of both there are.
  local count = in_time and #id == 16 and call('EXISTS', key, keys[3 * i]) == 1 and call('GET', key)
  local is_done = false
  -- Whether it is a number as Redis writes them, DECRBY knows.
  if type(count) == 'string' and (tonumber(count) or 0) >= 1
    and call('ZADD', leases, 'NX', until_ms, id) == 1 then
    local ttl = call('PTTL', key)
    -- As Redisson has it: leases live as long as the semaphore.
    if type(ttl) == 'number' and (ttl <= 0 or call('PEXPIRE', leases, ttl) == 1) then
      is_done = type(call('DECRBY', key, '1')) == 'number'
    end
    if not is_done then call('ZREM', leases, id) end
  end
  if not is_done then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
