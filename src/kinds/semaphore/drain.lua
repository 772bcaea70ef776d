-- Takes all permits that are left. Behind once.lua and count.lua.
--
--   KEYS[1]      name of the semaphore; its ttl stays as it is
--
-- Answers, besides those of once.lua
--    1, n    so many were taken. Fewer than none are left so: they are still owed
--   -2, 0    the key is of another type, or no number; it was not touched

local left, text = count_at(KEYS[1])
if left == nil and text then return text end
if left == false then return once(-2) end
if left == nil or left <= 0 then return once(1) end
return once(1, function() return redis.pcall('DECRBY', KEYS[1], text) end, text)
