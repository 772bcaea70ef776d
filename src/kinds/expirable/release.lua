-- Gives one permit back, whoever holds it. Behind once.lua, count.lua, announce.lua, foreign.lua and
-- leases.lua.
--
--   KEYS[1]      name of the semaphore
--   KEYS[3]      leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV[2]      channel on which permits are announced
--   ARGV[3]      the permit, 16 bytes
--
-- Answers, besides those of once.lua
--    1, 0    given back
--    0, 0    it has no lease, or there is no such semaphore
--   -2, 0    a key is of another type, or no number; neither was touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
local _, found
failed, found = find(KEYS[3], { ARGV[3] })
if failed then
  if foreign_or(failed) == -2 then return once(-2) end
  return failed
end
if left == nil or #found == 0 then return once(0) end
return once(1, function()
  failed, _, left = give_back(KEYS[1], KEYS[3], found)
  if not failed then announce(ARGV[2], left) end
  return failed
end)
