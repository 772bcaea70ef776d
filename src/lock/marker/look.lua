-- Reads the marker. Changes nothing.
--
--   KEYS[1]      the marker
--
-- Returns TIME in µs, then
--   nothing more      there is none
--   its text
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local text = redis.call('GET', KEYS[1])
if text then reply[2] = text end
return reply
