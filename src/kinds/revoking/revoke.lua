-- Takes locks of any kind away from a holder, and leaves them to a stand-in that nothing renews. Behind
-- ../mutex/foreign.lua and ../fenced/counter.lua.
--
-- For lock i of k:
--   KEYS[5i-4]   name of the lock
--   KEYS[5i-3]   timer of the holder, if it reads
--   KEYS[5i-2]   timer of the stand-in, if the holder reads
--   KEYS[5i-1]   counter of a fenced lock by itself
--   KEYS[5i]     counter of a fenced member of several
--   ARGV[4i-3]   holder id
--   ARGV[4i-2]   stand-in: the holder id that stands there then
--   ARGV[4i-1]   the same in place of a reader
--   ARGV[4i]     lease of a hold without a ttl from now on, ms
--
-- Returns TIME in µs, then two integers for each lock:
--    1, ttl in ms   the stand-in holds it, alone, for as long as the holder would have
--    2, ttl in ms   the same, as a writer
--    3, ttl in ms   the same, as a reader: the ttl is that of its timer
--    4, ttl in ms   the stand-in of this holder held it already, alone
--    5, ttl in ms   the same, as a writer
--    6, ttl in ms   the same, as a reader
--    0, 0           it is free
--    0, 1           held by others; nothing was changed
--   -2, 0           the key is of another type, or a hash that is no lock; it was not touched

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- How the stand-in of a holder that is gone holds it, as the code says that; nil if it does not.
local function stood_in(key, stand_in, reader)
  local found = redis.call('HMGET', key, stand_in, stand_in .. ':write', reader)
  return found[1] and 4 or found[2] and 5 or found[3] and 6 or nil
end

-- A token of the holder is less than the counter from now on, whose ttl stays. What is no counter of ours is left
-- as it is. Returns the error of a command, if there is one.
local function raise(counter)
  local before = read(counter, now + AHEAD)
  if not before or before == 0 or before == HIGHEST then return end
  local left = redis.pcall('PTTL', counter)
  if type(left) == 'table' then return left end
  return write(counter, before + 1, left)
end

-- The stand-in's timer ends when the holder's would have. How long that is, or the error of a command.
local function time_stand_in(timer, stand_in_timer, ttl)
  local left = redis.pcall('PTTL', timer)
  if type(left) == 'table' then return left end
  if left < 0 or left > ttl then left = ttl end
  local set = redis.pcall('SET', stand_in_timer, '1', 'PX', math.max(left, 1))
  return set.err and set or left
end

-- The stand-in is written first: a hash without fields is gone, and its ttl with it.
local function replace(key, holder, field)
  local written = redis.pcall('HSET', key, field, '1')
  if type(written) == 'table' then return written end
  redis.call('HDEL', key, holder, holder .. ':write')
end

local function revoke(key, timer, stand_in_timer, counters, holder, stand_in, reader, lease_ms)
  local found = redis.pcall('HMGET', key, 'mode', holder, holder .. ':write')
  if found.err then
    if string.find(found.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return found
  end
  local ttl = redis.call('PTTL', key)
  if ttl == -2 then return 0, 0 end
  local foreign, failed = is_foreign(key)
  if failed then return failed end
  if foreign then return -2, 0 end
  local reads, writes = found[1] == 'read' and not found[3], found[3]
  -- What is no holder id may be another field.
  if not string.find(holder, '^.+:%-?%d+$') or not found[2] and not writes then
    local before = stood_in(key, stand_in, reader)
    if not before then return 0, 1 end
    -- Nothing else would ever end it.
    if ttl == -1 then redis.call('PEXPIRE', key, lease_ms) end
    return before, ttl == -1 and lease_ms or ttl
  end
  if ttl == -1 then
    redis.call('PEXPIRE', key, lease_ms)
    ttl = lease_ms
  end
  -- On a server that is out of memory a script that has written may write more.
  redis.pcall('HDEL', key, '')
  for _, counter in ipairs(counters) do
    local unraised = raise(counter)
    if unraised then return unraised end
  end
  local timed = reads and time_stand_in(timer, stand_in_timer, ttl) or ttl
  if type(timed) == 'table' then return timed end
  failed = replace(key, holder, reads and reader or writes and stand_in .. ':write' or stand_in)
  if failed then
    if reads then redis.pcall('DEL', stand_in_timer) end
    return failed
  end
  if found[1] then redis.call('DEL', timer) end
  return reads and 3 or writes and 2 or 1, timed
end

local reply = { now }
for i = 1, #KEYS / 5 do
  local k, a = 5 * i - 4, 4 * i - 3
  local code, value = revoke(KEYS[k], KEYS[k + 1], KEYS[k + 2], { KEYS[k + 3], KEYS[k + 4] },
    ARGV[a], ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 3]))
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
