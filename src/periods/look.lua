-- Tells what is recorded of a run. Changes nothing.
--
--   KEYS[1]      where it is recorded
--
-- Returns TIME in µs, then
--   nothing more    nothing is recorded
--   the record
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
reply[2] = redis.call('GET', KEYS[1]) or nil
return reply
