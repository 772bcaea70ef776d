-- Deletes locks that are held in one mode, whoever holds them. Timers of readers end by themselves.
--
-- For lock i of k:
--   KEYS[i]      name of the lock
--   ARGV[3i-2]   mode: read or write
--   ARGV[3i-1]   channel on which the release is announced
--   ARGV[3i]     what is announced: 0 of readers, 1 of a writer, and then a 0 too
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    deleted; announced to n listeners, -1 if the user may not announce it
--    0, 0    it was not held in this mode
--   -2, 0    the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0    it is a lock of another kind; it was not touched

local function force(key, mode, channel, message)
  local failed, stands = look(key, '')
  if failed then return failure(failed) end
  if not stands and redis.call('PTTL', key) ~= -2 then return other(key) end
  if stands ~= mode then return 0, 0 end
  redis.call('DEL', key)
  return 1, announce(channel, message)
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS do
  local code, value = force(KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
