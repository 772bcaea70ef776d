-- Deletes a latch, whatever its count. Behind once.lua, count.lua and raise.lua.
--
--   KEYS[1]      name of the latch
--   ARGV[2]      channel on which zero is announced: to Redisson's `1` its waiters would wait on
--   ARGV[3]      where its generation stands, which a user need not have a right to
--
-- Answers, besides those of once.lua
--    1, 0    deleted
--    0, 0    it is not set
--   -2, 0    the key is of another type, or no number; it was not touched

local count, failed = count_at(KEYS[1])
if count == nil and failed then return failed end
if count == false then return once(-2) end
if count == nil then return once(0) end
return once(1, function()
  local deleted = redis.pcall('DEL', KEYS[1])
  if deleted == 1 then
    raise_generation(ARGV[3], now)
    redis.pcall('PUBLISH', ARGV[2], '0')
  end
  return deleted
end)
