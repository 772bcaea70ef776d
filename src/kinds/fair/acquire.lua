-- Acquires locks, confirms that they are held, or takes a place in their queues.
--
-- For lock i of k:
--   KEYS[4i-3]   name of the lock: a hash {holder id: count} with a ttl
--   KEYS[4i-2]   queue: a list of the holder ids of those who wait
--   KEYS[4i-1]   deadlines of their places: a sorted set, ms since 1970 by this server's clock
--   KEYS[4i]     note of a first in the queue that does not come for a free lock
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[3i]     holder id. Its count is set to 1, not raised: a repeated call changes nothing
--   ARGV[3i+1]   1 if it is to stand in the queue when it is refused
--   ARGV[3i+2]   channel of those who wait, before the colon and the holder id of each
--
-- Returns TIME in µs, and nothing else if all are held now, for the lease. Otherwise an array of it
-- and two integers for each lock:
--    1, ttl in ms   held by this holder now
--    0, ttl in ms   held by another, or the turn of another; -1 if without a ttl
--   -1, 0           stale: the stamp is over; nothing was changed
--   -2, 0           a key is of another type, or a hash that is no lock; it was not touched
--   -5, 0           it is a lock of another kind; it was not touched
--   -6, ms          it stands in the queue, and is to ask again within so long
--   -7, ms          the same, at the end: it did not stand there before
--   error, 0        a command failed for want of memory or of a right: what was written for this
--                   lock is taken back, and the others go on

-- One lock may stand in it several times, by other holder ids: each is answered as if it had come by itself, in this
-- order. What the usual case has once left it leaves to the end, since its key or its queue is there.
--
-- Locals, and no functions before the usual case: see mutex/acquire.lua.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, in_time = args[1], now <= tonumber(args[2])
local left
for i = 1, #keys / 4 do
  local key = keys[4 * i - 3]
  if not (in_time and call('EXISTS', key, keys[4 * i - 2]) == 0
    and call('HSET', key, args[3 * i], '1') == 1 and call('PEXPIRE', key, lease) == 1) then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
local now_ms = math.floor(now / 1000)
