-- Tells a number. Changes nothing. Behind count.lua.
--
--   KEYS[1]      name of the latch or semaphore
--
-- Returns TIME in µs, then
--   nothing more    it is not set
--   the number, as text
-- A key of another type, or no number, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local count, text = count_at(KEYS[1])
if count == false then return redis.error_reply('WRONGTYPE The key holds no count') end
if type(text) == 'table' then return text end
reply[2] = text
return reply
