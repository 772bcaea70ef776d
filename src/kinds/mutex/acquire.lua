-- Acquires locks, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[i]      name of the lock: a hash {holder id: count} with a ttl
--   ARGV[4i-3]   holder id
--   ARGV[4i-2]   count to write: set, not added, so that a repeated call changes nothing
--   ARGV[4i-1]   lease, ms
--   ARGV[4i]     not-after stamp, µs of this server's clock: a later execution changes nothing
--
-- Returns TIME in µs, then two integers for each lock:
--    1, ttl in ms   held by this holder now
--    0, ttl in ms   held by another; -1 if without a ttl
--   -1, 0           stale: the stamp is over; nothing was changed
--   -2, 0           the key is of another type, or a hash that is no lock; it was not touched
-- Out of memory is an error of the call before anything was written. A missing permission is one
-- too: what was written for that lock is taken back.

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local a = 4 * i - 3
  local holder = ARGV[a]
  local code, value, mine = in_the_way(key, holder, tonumber(ARGV[a + 3]), reply[1])
  if not code then
    code, value = grant(key, holder, ARGV[a + 1], tonumber(ARGV[a + 2]), value, mine)
  end
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
