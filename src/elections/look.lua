-- Tells which holder leads, and what is announced beside the lock. Changes nothing.
--
--   KEYS[1]      name of the lock
--   KEYS[2]      where its leader is announced
--
-- Returns TIME in µs, then
--   nothing more                      free, or held by several
--   ttl in ms (-1 if without), then   held
--     holder id
--     what is announced, if anything is
-- A key of another type, or a hash that is no lock, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
if redis.call('HLEN', KEYS[1]) ~= 1 then return reply end
local holder = redis.call('HKEYS', KEYS[1])[1]
if not string.find(holder, '^.+:%-?%d+$') then
  return redis.error_reply('WRONGTYPE The hash is not a lock')
end
reply[2] = redis.call('PTTL', KEYS[1])
reply[3] = holder
local announced = redis.call('GET', KEYS[2])
-- Ours are shorter than 2 kB. What others have put there is not sent in full.
if announced then reply[4] = string.sub(announced, 1, 2048) end
return reply
