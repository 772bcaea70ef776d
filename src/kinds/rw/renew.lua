-- Renews leases, of readers and of writers; and downgrades writers that only read by now.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock
--   KEYS[2i]     timer of the holder, if it reads
--   ARGV[1]      lease of all, ms; 0 only asks
--   ARGV[2i]     holder id
--   ARGV[1+2i]   channel on which a downgrade is announced, if the holder reads: should it stand
--                there as a writer, it does so no more. Else empty
--
-- Returns TIME in µs, and nothing else if all are still held by these holders, for the lease now.
-- Otherwise an array of it and two integers for each lock:
--    1, ttl in ms   still held by this holder; the ttl is at least the lease now
--                   (-1 if it was only asked for and there is none); that of the timer, if it reads
--    0, 0           gone: nobody holds it
--    0, 1           taken: held by others
--   -2, 0           gone: the key is of another type; it was not touched

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_ms = tonumber(ARGV[1])

-- Other holders may have longer leases: only a shorter ttl is written.
local function extend(key, ttl)
  if ttl >= 0 and ttl < lease_ms then redis.call('PEXPIRE', key, lease_ms) end
  return math.max(ttl, lease_ms)
end

-- For how long a reader holds it, whose own the timer is. Returns the error of a command, if one failed.
local function as_timed(timer, ttl)
  local timed = lease_ms > 0 and keep_timer(timer, lease_ms) or redis.call('PTTL', timer)
  if type(timed) == 'table' then return timed end
  if timed == -1 then return ttl end
  return math.max(ttl == -1 and timed or math.min(ttl, timed), 0)
end

local function renew(key, timer, holder, channel)
  local failed, _, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  local ttl = redis.call('PTTL', key)
  if not reads and not writes then return 0, ttl == -2 and 0 or 1 end
  if lease_ms > 0 then ttl = extend(key, ttl) end
  if reads then
    local timed = as_timed(timer, ttl)
    if type(timed) == 'table' then return timed end
    -- Who writes, too, has all of it.
    if not writes then ttl = timed end
  end
  if writes and channel ~= '' then downgrade(key, timer, holder, writes, ttl, channel) end
  return 1, ttl
end

local reply, is_plain = { now }, lease_ms > 0
for i = 1, #KEYS / 2 do
  local code, value = renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], ARGV[2 * i + 1])
  if type(code) == 'table' then return code end
  is_plain = is_plain and code == 1 and value == lease_ms
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
