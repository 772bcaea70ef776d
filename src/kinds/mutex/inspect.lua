-- Tells who holds a lock. Changes nothing.
--
--   KEYS[1]      name of the lock
--
-- Returns TIME in µs, then
--   nothing more                      free
--   ttl in ms (-1 if without), then   held; for each field of the hash:
--     holder id, count
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local fields = redis.call('HGETALL', KEYS[1])
if #fields > 0 then
  reply[2] = redis.call('PTTL', KEYS[1])
  for i, field in ipairs(fields) do reply[i + 2] = field end
end
return reply
