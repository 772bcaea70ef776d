-- Tells who holds a lock. Changes nothing.
--
--   KEYS[1]      name of the lock
--
-- Returns TIME in µs, then
--   nothing more                      free
--   ttl in ms (-1 if without), then   held; for each field of the hash:
--     holder id, count
-- A key of another type, or a hash that is no lock, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local foreign, failed = is_foreign(KEYS[1])
if failed then return failed end
if foreign then return redis.error_reply('WRONGTYPE The hash is not a lock') end
local fields = redis.call('HGETALL', KEYS[1])
if #fields > 0 then
  reply[2] = redis.call('PTTL', KEYS[1])
  for i, field in ipairs(fields) do reply[i + 2] = field end
end
return reply
