-- Gives permits with leases back.
--
-- For semaphore i of k:
--   KEYS[2i-1]   name of the semaphore: a string, how many permits are left
--   KEYS[2i]     leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV[2i-1]   the permits, 16 bytes each
--   ARGV[2i]     channel on which permits are announced
--
-- Returns TIME in µs, then two integers for each semaphore:
--    1, n    done: all of them, announced to n listeners; -1 if they were not announced
--    0, 0    gone: some had no lease any more, or there is no such semaphore; the others are given back
--   -2, 0    a key is of another type, or no number; neither was touched

-- The usual case first, one permit, and without functions, which each call would make anew: those for what
-- is in the way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local reply, left = { time[1] * 1000000 + time[2] }, nil
for i = 1, #keys / 2 do
  local key, leases, id = keys[2 * i - 1], keys[2 * i], args[2 * i - 1]
  local count, sum = #id == 16 and call('GET', key), nil
  if type(count) == 'string' and #count <= 15 and (count == '0' or string.find(count, '^%-?[1-9]%d*$')) then
    local ends = call('ZSCORE', leases, id)
    -- ZREM first: on a server that is out of memory a script that has written may write more.
    if type(ends) == 'string' and call('ZREM', leases, id) == 1 then
      sum = call('INCRBY', key, 1)
      if type(sum) == 'table' then call('ZADD', leases, ends, id) end
    end
  end
  if type(sum) == 'number' then
    -- None to be had is not announced: Redisson's listeners fail on it.
    local listeners = sum > 0 and call('PUBLISH', args[2 * i], sum)
    reply[2 * i], reply[2 * i + 1] = 1, type(listeners) == 'number' and listeners or -1
  else
    left = left or {}
    left[i] = true
  end
end
if not left then return reply end
