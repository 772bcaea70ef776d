-- Releases locks, or gives up places in their queues. Whoever is next is told.
--
-- For lock i of k:
--   KEYS[4i-3]   name of the lock
--   KEYS[4i-2]   queue of those who wait
--   KEYS[4i-1]   deadlines of their places
--   KEYS[4i]     note of a first in the queue that does not come
--   ARGV[2i-1]   holder id
--   ARGV[2i]     channel of those who wait, before the colon and the holder id of each
--   ARGV[2k+1]   there of one lock if nobody asks for the time
--
-- Returns n alone if nobody asks for the time, it is released and nobody waits. Else TIME in µs, then two
-- integers for each lock:
--    1, n    released; n listeners heard of it, -1 if the user may not announce it
--    0, 0    gone: nobody holds it
--    0, 1    taken: held by another; it was not touched
--   -2, 0    the key is of another type; it was not touched

-- The usual case first, one lock for which nobody waits, and without functions, which each call would make anew:
-- those for what is in the way come behind it. A table costs as much as two commands, be it of an answer.
local call, keys, args = redis.pcall, KEYS, ARGV
local brief = #keys == 4 and args[3]
local time = not brief and redis.call('TIME')
if #keys == 4 and call('HEXISTS', keys[1], args[1]) == 1 and call('EXISTS', keys[2], keys[3]) == 0 then
  redis.call('DEL', keys[1])
  return brief and 0 or { time[1] * 1000000 + time[2], 1, 0 }
end
