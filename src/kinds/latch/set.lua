-- Sets a latch, unless it is set. Behind once.lua and count.lua.
--
--   KEYS[1]      name of the latch
--   ARGV[2]      channel on which that is announced
--   ARGV[3]      how often it is to be counted down
--
-- Answers, besides those of once.lua
--    1, 0    set
--    0, 0    it is set already
--   -2, 0    the key is of another type, or no number; it was not touched

local count, failed = count_at(KEYS[1])
if count == nil and failed then return failed end
if count == false then return once(-2) end
if count then return once(0) end
return once(1, function()
  local set = redis.pcall('SET', KEYS[1], ARGV[3])
  if not set.err then redis.pcall('PUBLISH', ARGV[2], '1') end
  return set
end)
