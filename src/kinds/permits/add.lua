-- Adds permits to a semaphore, or takes some away. Behind once.lua, count.lua and announce.lua.
--
--   KEYS[1]      name of the semaphore; its ttl stays as it is
--   ARGV[2]      channel on which permits are announced
--   ARGV[3]      how many more; or fewer, if negative
--   ARGV[4]      1 if only to one that is there
--
-- Answers, besides those of once.lua
--    1, 0    added
--    0, 0    it is not there
--   error    they would be more than can be counted, or as many less than none; nothing was changed
--   -2, 0    the key is of another type, or no number; it was not touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
if left == nil and ARGV[4] == '1' then return once(0) end
-- Beyond it, two counts would look the same, and at last like no count.
if math.abs((left or 0) + ARGV[3]) > 9007199254740991 then
  return redis.error_reply('ERR increment or decrement would overflow')
end
return once(1, function()
  local sum = redis.pcall('INCRBY', KEYS[1], ARGV[3])
  if type(sum) ~= 'table' then announce(ARGV[2], sum) end
  return sum
end)
