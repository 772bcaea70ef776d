-- Gives one permit another lease, from now on. Behind once.lua, count.lua, foreign.lua, ours.lua
-- and leases.lua.
--
--   KEYS[1]      name of the semaphore
--   KEYS[3]      leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV[2]      the permit, 16 bytes
--   ARGV[3]      lease, ms
--   ARGV[4]      how far clocks may be apart, ms: it is written so much longer, or as its id says
--
-- Answers, besides those of once.lua
--    1, 0    done
--    0, 0    it has no lease, or one that is over, or there is no such semaphore
--   -2, 0    a key is of another type, or no number; neither was touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
local found, ends
failed, found, ends = find(KEYS[3], { ARGV[2] })
if failed then
  if foreign_or(failed) == -2 then return once(-2) end
  return failed
end
local now_ms = math.floor(now / 1000)
local skew_ms = tonumber(ARGV[4])
if left == nil or #found == 0 or over_at(found[1], ends[1], skew_ms) < now_ms then return once(0) end
return once(1, function()
  local longer_ms = math.abs(over_at(found[1], 0, skew_ms))
  return redis.pcall('ZADD', KEYS[3], now_ms + ARGV[3] + longer_ms, ARGV[2])
end)
