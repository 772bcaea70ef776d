-- Deletes locks, whoever holds them, and tells whoever is next. Queues stay.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock
--   KEYS[3i-1]   queue of those who wait
--   KEYS[3i]     deadlines of their places
--   ARGV[i]      channel of those who wait, before the colon and the holder id of each
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    deleted; n listeners heard of it, -1 if the user may not announce it
--    0, 0    it was not held
--   -2, 0    the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0    it is a lock of another kind; it was not touched

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function force(key, queue, deadlines, channel)
  local foreign, failed = is_foreign(key)
  if failed then
    if string.find(failed.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return failed
  end
  if foreign then return -2, 0 end
  if redis.call('HEXISTS', key, 'mode') == 1 then return -5, 0 end
  if redis.call('DEL', key) == 0 then return 0, 0 end
  return 1, tell_first(queue, deadlines, channel, math.floor(now / 1000))
end

local reply = { now }
for i, channel in ipairs(ARGV) do
  local code, value = force(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], channel)
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
