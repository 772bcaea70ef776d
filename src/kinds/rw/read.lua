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

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_ms, in_time = tonumber(ARGV[1]), now <= tonumber(ARGV[2])

local function acquire(key, timer, wish, holder, holds)
  local failed, mode, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl.
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  if not in_time then return -1, 0 end
  if not reads and not writes then
    if mode == 'write' then return 0, ttl end
    if mode ~= 'read' and ttl ~= -2 then return other(key) end
    local wished = holds and -2 or redis.pcall('PTTL', wish)
    -- Whoever may not look at wishes is not kept out by them.
    if type(wished) ~= 'table' and wished ~= -2 then return 0, wished end
  end
  if not writes then failed = enter(key, timer, holder, mode, reads, lease_ms) end
  if failed then return failed end
  failed, ttl = extend(key, ttl, lease_ms)
  if not failed then return 1, ttl end
  if not reads and not writes then leave(key, timer, holder, mode) end
  return failed
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 3 do
  local code, value = acquire(
    KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[2 * i + 1], ARGV[2 * i + 2] == '1')
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1 and value == lease_ms
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
