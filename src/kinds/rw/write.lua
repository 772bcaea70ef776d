-- Acquires locks for writing, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock: a hash {mode: write, <holder id>:write: count} with a ttl
--   KEYS[2i]     wish of a writer that waits for readers
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[1+2i]   holder id. Its count is set to 1, not raised: a repeated call changes nothing
--   ARGV[2+2i]   who wishes, for readers to be told: 1 for the holder id, which stays the same while the
--                caller waits; a process; or 0 if it does not wait
--
-- Returns TIME in µs, and nothing else if all are held now, for the lease. Otherwise an array of it
-- and two integers for each lock:
--    1, ttl in ms   held by this holder now; as a reader, if it was downgraded meanwhile
--    0, ttl in ms   held by others; -1 if without a ttl. Where a wish stands that ends by itself, to
--                   be asked again within so long
--   -1, 0           stale: the stamp is over; nothing was changed
--   -2, 0           the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0           it is a lock of another kind; it was not touched
--   -6, ms          the same where the wish is to be withdrawn
--   error, 0        a command failed for want of memory or of a right: what was written for this
--                   lock is taken back, and the others go on

-- The usual case first, a lock that nobody has and no writer wishes for, and without functions, which each call
-- would make anew: those for what is in the way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local in_time = now <= tonumber(args[2])
local left
for i = 1, #keys / 2 do
  local key, is_done = keys[2 * i - 1], false
  if in_time and call('EXISTS', key, keys[2 * i]) == 0
    and call('HSET', key, 'mode', 'write', args[2 * i + 1] .. ':write', '1') == 2 then
    is_done = call('PEXPIRE', key, args[1]) == 1
    -- Scripts do not roll back: without this it would stand for ever.
    if not is_done then call('DEL', key) end
  end
  if not is_done then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
