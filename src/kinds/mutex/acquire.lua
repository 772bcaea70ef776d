-- Acquires locks, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[i]      name of the lock: a hash {holder id: count} with a ttl
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[2+i]    holder id. Its count is set to 1, not raised: a repeated call changes nothing
--
-- Returns TIME in µs, and nothing else if all are held now, for the lease. Otherwise an array of it
-- and two integers for each lock:
--    1, ttl in ms   held by this holder now
--    0, ttl in ms   held by another; -1 if without a ttl
--   -1, 0           stale: the stamp is over; nothing was changed
--   -2, 0           the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0           it is a lock of another kind; it was not touched
--   error, 0        a command failed for want of memory or of a right: what was written for this
--                   lock is taken back, and the others go on

-- Locals, since a script's globals are slow; and no functions, since each call would make them anew:
-- those for what is in the way come after the usual case.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, in_time = args[1], now <= tonumber(args[2])
local left
for i = 1, #keys do
  local key = keys[i]
  if not (in_time and call('PTTL', key) == -2
    and call('HSET', key, args[i + 2], '1') == 1 and call('PEXPIRE', key, lease) == 1) then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
