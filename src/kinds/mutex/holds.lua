-- Whether a hold of a mutex stands: see wire/hold_check.rs.
--
--   KEYS, last   name of the lock
--   ARGV, last   holder id

local __holder, __name = table.remove(ARGV), table.remove(KEYS)
local __held = redis.pcall('HEXISTS', __name, __holder)
local __taken = __held == 0 and redis.call('EXISTS', __name)
