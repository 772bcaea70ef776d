-- Reads the marker.
--
--   KEYS[1]      the marker
--   ARGV[1]      if there is none, the server is not to vote for so long, ms, and one is written
--                that says so; 0 changes nothing
--
-- Returns TIME in µs, then
--   nothing more      there is none
--   its text
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local text = redis.call('GET', KEYS[1])
if not text and ARGV[1] ~= '0' then
  text = 'waits ' .. string.format('%.0f', reply[1] + ARGV[1] * 1000)
  redis.call('SET', KEYS[1], text)
end
if text then reply[2] = text end
return reply
