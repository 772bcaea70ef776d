-- Gives permits with leases back, or withdraws a wish for some.
--
-- For semaphore i of k:
--   KEYS[3i-2]   name of the semaphore: a string, how many permits are left
--   KEYS[3i-1]   leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   KEYS[3i]     wish of one who waits for several
--   ARGV[2i-1]   the permits, 16 bytes each
--   ARGV[2i]     channel on which permits are announced
--   ARGV[2k+1]   there of one semaphore if nobody asks for the time
--
-- Returns n alone if nobody asks for the time and it is done. Else TIME in µs, then two integers for each
-- semaphore:
--    1, n    done: all of them, announced to n listeners; -1 if they were not announced
--    0, 0    gone: some had no lease any more, or there is no such semaphore; the others are given back
--   -2, 0    a key is of another type, or no number; neither was touched

-- The usual case first, one permit of one, and without functions, which each call would make anew: those for
-- what is in the way come behind it. A table costs as much as two commands, be it of an answer.
local call, keys, args = redis.pcall, KEYS, ARGV
local brief = #keys == 3 and args[3]
local time = not brief and redis.call('TIME')
if #keys == 3 and #args[1] == 16 then
  local key, leases, id = keys[1], keys[2], args[1]
  local ends, sum = call('EXISTS', key) == 1 and call('ZSCORE', leases, id), nil
  -- ZREM first: on a server that is out of memory a script that has written may write more.
  if type(ends) == 'string' and call('ZREM', leases, id) == 1 then
    -- As text: a number is written with seventeen digits first.
    sum = call('INCRBY', key, '1')
    if type(sum) == 'table' then call('ZADD', leases, ends, id) end
  end
  if type(sum) == 'number' then
    -- None to be had is not announced: Redisson's listeners fail on it.
    local listeners = sum > 0 and call('PUBLISH', args[2], sum)
    if type(listeners) ~= 'number' then listeners = -1 end
    return brief and listeners or { time[1] * 1000000 + time[2], 1, listeners }
  end
end
