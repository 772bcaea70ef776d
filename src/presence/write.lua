-- Writes what a process is, and what it holds for long: for readers, nothing decides by it.
--
--   KEYS[1]      the record of the process
--   ARGV[1]      its ttl, in ms
--   ARGV[2]      how many words follow that say which process it is
--   then         fields and values in turn
--   then         how many words follow that say what it holds
--   then         the number of a hold, and for how long it is held, in µs, in turn
--   then         numbers of holds that are over
--
-- The record ends with the last hold in it. Returns TIME in µs.
-- A key of another type is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local fields, at = {}, 3 + tonumber(ARGV[2])
for i = 3, at - 1 do fields[#fields + 1] = ARGV[i] end
local last = at + tonumber(ARGV[at])
for i = at + 1, last, 2 do
  fields[#fields + 1] = 'h:' .. ARGV[i]
  fields[#fields + 1] = string.format('%.0f', now - tonumber(ARGV[i + 1]))
end
redis.call('HSET', KEYS[1], unpack(fields))
for i = last + 1, #ARGV do redis.call('HDEL', KEYS[1], 'h:' .. ARGV[i]) end
if last == at then
  -- Other clients of the process may have written holds of theirs.
  local holds = false
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    holds = holds or string.sub(field, 1, 2) == 'h:'
  end
  if not holds then
    redis.call('PEXPIRE', KEYS[1], 0)
    return { now }
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { now }
