-- Acquires locks for reading, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock: a hash {mode: read, holder id: count, …} with a ttl
--   KEYS[3i-1]   timer of the holder: without one, Redisson's readers take it for dead
--   KEYS[3i]     wish of a writer: while it stands, nobody begins to read
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[1+2i]   holder id. Its count is set to 1, not raised: a repeated call changes nothing
--   ARGV[2+2i]   1 if the holder reads already, on other servers: no wish keeps it out
--
-- Returns TIME in µs, and nothing else if all are held now, for the lease. Otherwise an array of it
-- and two integers for each lock:
--    1, ttl in ms   held by this holder now; as a writer, if that is what stands there
--    0, ttl in ms   a writer has it, or wishes to; -1 if without a ttl
--   -1, 0           stale: the stamp is over; nothing was changed
--   -2, 0           the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0           it is a lock of another kind; it was not touched
--   error, 0        a command failed for want of memory or of a right: what was written for this
--                   lock is taken back, and the others go on

-- The usual case first, a lock that nobody has or that others read, and without functions, which each call
-- would make anew: those for what is in the way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_ms, in_time = tonumber(args[1]), now <= tonumber(args[2])
local left
for i = 1, #keys / 3 do
  local key, timer, holder = keys[3 * i - 2], keys[3 * i - 1], args[2 * i + 1]
  -- The lock, or a wish: how many of both there are.
  local there, is_done = in_time and call('EXISTS', key, keys[3 * i]), false
  local ttl = there == 0 and -2
  if there == 1 then
    local found = call('HMGET', key, 'mode', holder, holder .. ':write')
    if not found.err and found[1] == 'read' and not found[2] and not found[3] then
      ttl = call('PTTL', key)
      -- A longer ttl, or none, is not to be shortened.
      if type(ttl) ~= 'number' or ttl < 0 or ttl > lease_ms then ttl = false end
    end
  end
  if ttl and not call('SET', timer, '1', 'PX', args[1]).err then
    is_done = type(call('HSET', key, 'mode', 'read', holder, '1')) == 'number'
      and call('PEXPIRE', key, args[1]) == 1
    -- Scripts do not roll back: without this a lock that was nobody's would stand for ever.
    if not is_done then
      call('DEL', timer)
      if ttl == -2 then call('DEL', key) else call('HDEL', key, holder) end
    end
  end
  if not is_done then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
