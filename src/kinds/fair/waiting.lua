-- Tells who waits for a lock. Changes nothing.
--
--   KEYS[1]      queue of those who wait
--
-- Returns TIME in µs, then the holder ids of all, the next one first. A key of another type is an error
-- of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i, waiter in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do reply[i + 1] = waiter end
return reply
