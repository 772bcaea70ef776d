-- Whether permits are held: see wire/hold_check.rs.
--
--   KEYS, last but one   name of the semaphore
--   KEYS, last           who holds how many: a hash {holder id: permits}
--   ARGV, last           holder id

local __holder, __holders, __name = table.remove(ARGV), table.remove(KEYS), table.remove(KEYS)
local __held = redis.pcall('HEXISTS', __holders, __holder)
if __held == 1 then __held = redis.call('EXISTS', __name) end
local __taken = 0
