-- Tells which process a record is of, and what it has held for how long. Changes nothing.
--
--   KEYS[1]      the record of the process
--   ARGV[1]      number of a hold
--
-- Returns TIME in µs, then
--   nothing more                      there is no record
--   since when it is held, in µs      0 if that is not known
--   fields and values in turn         all but those of holds
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local length = redis.call('HLEN', KEYS[1])
-- What has more is none of ours, and would hold the server up.
if length == 0 or length > 2000 then return { now } end
local reply = { now, tonumber(redis.call('HGET', KEYS[1], 'h:' .. ARGV[1])) or 0 }
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 2) ~= 'h:' then
    reply[#reply + 1] = fields[i]
    reply[#reply + 1] = string.sub(fields[i + 1], 1, 512)
  end
end
return reply
