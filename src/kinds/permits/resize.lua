-- Sets how many permits of a semaphore there are in all, those that are held included. Behind once.lua, count.lua,
-- announce.lua and the held.lua of its kind.
--
--   KEYS[1]      name of the semaphore; its ttl stays as it is
--   KEYS[3]      who holds permits: nobody does of one that was not set
--   ARGV[2]      channel on which permits are announced
--   ARGV[3]      how many there are to be
--
-- Answers, besides those of once.lua
--    1, n    set: so many are left. Fewer than none: as many are given back before one is to be had again
--   -2, 0    a key is of another type, or no number; neither was touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
local wanted = tonumber(ARGV[3])
if left == nil then
  return once(1, function()
    local cleared = redis.pcall('DEL', KEYS[3])
    if type(cleared) == 'table' then return cleared end
    local set = redis.pcall('SET', KEYS[1], ARGV[3])
    if not set.err then announce(ARGV[2], wanted) end
    return set
  end, wanted)
end
local held, error = held_at(KEYS[3])
if held == nil then return error end
if held == false then return once(-2) end
local now_left = wanted - held
return once(1, function()
  if now_left == left then return nil end
  local sum = redis.pcall('INCRBY', KEYS[1], now_left - left)
  if type(sum) ~= 'table' and now_left > left then announce(ARGV[2], sum) end
  return sum
end, now_left)
