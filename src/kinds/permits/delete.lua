-- Deletes a semaphore, whoever holds permits of it. Behind once.lua and count.lua.
--
--   KEYS[1]      name of the semaphore
--   KEYS[3]      who holds permits
--
-- Answers, besides those of once.lua
--    1, 0    deleted
--    0, 0    it is not there
--   -2, 0    the key is of another type, or no number; it was not touched

local left, failed = count_at(KEYS[1])
if left == nil and failed then return failed end
if left == false then return once(-2) end
return once(left and 1 or 0, function() return redis.pcall('DEL', KEYS[1], KEYS[3]) end)
