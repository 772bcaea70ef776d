-- Deletes locks, whoever holds them.
--
-- For lock i of k:
--   KEYS[i]      name of the lock
--   ARGV[i]      channel on which the release is announced
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    deleted; announced to n listeners, -1 if the user may not announce it
--    0, 0    it was not held
--   -2, 0    the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0    it is a lock of another kind; it was not touched

local function force(key, channel)
  local foreign, failed = is_foreign(key)
  if failed then
    if string.find(failed.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return failed
  end
  if foreign then return -2, 0 end
  if redis.call('HEXISTS', key, 'mode') == 1 then return -5, 0 end
  if redis.call('DEL', key) == 0 then return 0, 0 end
  local listeners = redis.pcall('PUBLISH', channel, '0')
  if type(listeners) == 'table' then return 1, -1 end
  return 1, listeners
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local code, value = force(key, ARGV[i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
