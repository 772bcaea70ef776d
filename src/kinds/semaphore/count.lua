-- Gives permits back, or forgets who holds them, or withdraws a wish for some.
--
-- For semaphore i of k:
--   KEYS[3i-2]   name of the semaphore: a string, how many permits are left
--   KEYS[3i-1]   who holds how many: a hash {holder id: permits}
--   KEYS[3i]     wish of a holder that waits for several
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   how many permits it has: 0 if that is not known, -1 if they are given back by somebody else
--   ARGV[3i]     channel on which permits are announced
--   ARGV[3k+1]   there of one semaphore if nobody asks for the time
--
-- Returns n alone if nobody asks for the time and it is done. Else TIME in µs, then two integers for each
-- semaphore:
--    1, n    done, and announced to n listeners; -1 if it was not announced
--    0, 0    gone: the holder has none, or there is no such semaphore; none were given back
--   -2, 0    a key is of another type, or no number; neither was touched

-- The usual case first, permits of one, and without functions, which each call would make anew: those for what
-- is in the way come behind it. A table costs as much as two commands, be it of an answer.
local call, keys, args = redis.pcall, KEYS, ARGV
local brief = #keys == 3 and args[4]
local time = not brief and redis.call('TIME')
local permits = args[2]
if #keys == 3 and permits ~= '0' and permits ~= '-1' then
  local key, holders, holder, sum = keys[1], keys[2], args[1], nil
  -- HDEL first: on a server that is out of memory a script that has written may write more.
  if call('EXISTS', key) == 1 and call('HDEL', holders, holder) == 1 then
    sum = call('INCRBY', key, permits)
    if type(sum) == 'table' then call('HSET', holders, holder, permits) end
  end
  if type(sum) == 'number' then
    -- None to be had is not announced: Redisson's listeners fail on it.
    local listeners = sum > 0 and call('PUBLISH', args[3], sum)
    if type(listeners) ~= 'number' then listeners = -1 end
    return brief and listeners or { time[1] * 1000000 + time[2], 1, listeners }
  end
end
