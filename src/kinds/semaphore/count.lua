-- Gives permits back, or forgets who holds them.
--
-- For semaphore i of k:
--   KEYS[2i-1]   name of the semaphore: a string, how many permits are left
--   KEYS[2i]     who holds how many: a hash {holder id: permits}
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   1 if its permits are given back by somebody else
--   ARGV[3i]     channel on which permits are announced
--
-- Returns TIME in µs, then two integers for each semaphore:
--    1, n    done, and announced to n listeners; -1 if it was not announced
--    0, 0    gone: the holder has none, or there is no such semaphore; none were given back
--   -2, 0    a key is of another type, or no number; neither was touched

-- The usual case first, and without functions, which each call would make anew: those for what is in the
-- way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local reply, left = { time[1] * 1000000 + time[2] }, nil
for i = 1, #keys / 2 do
  local key, holders, holder = keys[2 * i - 1], keys[2 * i], args[3 * i - 2]
  local permits, sum = call('HGET', holders, holder), nil
  if type(permits) == 'string' and args[3 * i - 1] ~= '1' then
    local count = call('GET', key)
    -- HDEL first: on a server that is out of memory a script that has written may write more.
    if type(count) == 'string' and #count <= 15 and (count == '0' or string.find(count, '^%-?[1-9]%d*$'))
      and call('HDEL', holders, holder) == 1 then
      sum = call('INCRBY', key, permits)
      if type(sum) == 'table' then call('HSET', holders, holder, permits) end
    end
  end
  if type(sum) == 'number' then
    -- None to be had is not announced: Redisson's listeners fail on it.
    local listeners = sum > 0 and call('PUBLISH', args[3 * i], sum)
    reply[2 * i], reply[2 * i + 1] = 1, type(listeners) == 'number' and listeners or -1
  else
    left = left or {}
    left[i] = true
  end
end
if not left then return reply end
