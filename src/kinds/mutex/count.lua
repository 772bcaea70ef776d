-- Writes how often locks are held; a count of 0 releases.
--
-- For lock i of k:
--   KEYS[i]      name of the lock
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   count
--   ARGV[3i]     channel on which a release is announced (not a key: a key that does not exist
--                makes a cluster answer TRYAGAIN while its slot moves)
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    done. For a count of 0: announced to n listeners, -1 if the user may not announce it
--    0, 0    gone: nobody holds it
--    0, 1    taken: held by another; nothing was changed
--   -2, 0    the key is of another type; it was not touched

local function release(key, channel)
  -- DEL, not HINCRBY: a server that is out of memory still allows it.
  redis.call('DEL', key)
  -- Without the right to the channel the lock is released all the same, unannounced.
  local listeners = redis.pcall('PUBLISH', channel, '0')
  if type(listeners) == 'table' then return 1, -1 end
  return 1, listeners
end

local function write(key, holder, count, channel)
  local mine = redis.pcall('HEXISTS', key, holder)
  if type(mine) == 'table' then
    if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return mine
  end
  if mine == 0 then return 0, redis.call('PTTL', key) == -2 and 0 or 1 end
  if count == 0 then return release(key, channel) end
  redis.call('HSET', key, holder, count)
  return 1, 0
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local code, value = write(key, ARGV[3 * i - 2], tonumber(ARGV[3 * i - 1]), ARGV[3 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
