-- Sets the permits of a semaphore, unless they are set. Behind once.lua, count.lua and announce.lua.
--
--   KEYS[1]      name of the semaphore
--   KEYS[3]      who holds permits: nobody does of a new one, whatever was left of the last
--   ARGV[2]      channel on which permits are announced
--   ARGV[3]      how many
--
-- Answers, besides those of once.lua
--    1, 0    set
--    0, 0    they are set already
--   -2, 0    the key is of another type, or no number; it was not touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
if left then return once(0) end
return once(1, function()
  local cleared = redis.pcall('DEL', KEYS[3])
  if type(cleared) == 'table' then return cleared end
  local set = redis.pcall('SET', KEYS[1], ARGV[3])
  if not set.err then announce(ARGV[2], tonumber(ARGV[3])) end
  return set
end)
