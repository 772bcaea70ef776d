-- Tells who holds permits. Changes nothing.
--
--   KEYS[1]      name of the semaphore
--   KEYS[2]      who holds how many: a hash {holder id: permits}
--
-- Returns TIME in µs, the ttl of the semaphore in ms (-1 if it has none, -2 if it is not there), then
-- holder id and permits of each.

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2], redis.call('PTTL', KEYS[1]) }
for _, word in ipairs(redis.call('HGETALL', KEYS[2])) do
  reply[#reply + 1] = word
end
return reply
