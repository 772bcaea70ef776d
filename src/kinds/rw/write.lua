-- Acquires locks for writing, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock: a hash {mode: write, <holder id>:write: count} with a ttl
--   KEYS[2i]     wish of a writer that waits for readers
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[1+2i]   holder id. Its count is set to 1, not raised: a repeated call changes nothing
--   ARGV[2+2i]   who wishes, for readers to be told, if the caller waits; else empty: the holder id
--                if that stays the same while it waits
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

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_ms, in_time = tonumber(ARGV[1]), now <= tonumber(ARGV[2])

local function acquire(key, wish, holder, wisher)
  local failed, mode, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl.
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  if not in_time then return -1, 0 end
  if not reads and not writes and ttl ~= -2 then
    if mode ~= 'read' and mode ~= 'write' then return other(key) end
    if mode == 'read' and wisher ~= '' then return tell(wish, holder, wisher, ttl) end
    return 0, ttl
  end
  if not reads then
    local written = redis.pcall('HSET', key, 'mode', 'write', holder .. ':write', '1')
    if type(written) == 'table' then return written end
  end
  failed, ttl = extend(key, ttl, lease_ms)
  if failed then
    -- Scripts do not roll back: without this it would stand for ever.
    if not mode then redis.pcall('DEL', key) end
    return failed
  end
  if wisher ~= '' and redis.pcall('GET', wish) == wisher then redis.pcall('DEL', wish) end
  return 1, ttl
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 2 do
  local code, value =
    acquire(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1], ARGV[2 * i + 2])
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1 and value == lease_ms
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
