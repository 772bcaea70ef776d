-- Whether a reader's hold stands: see wire/hold_check.rs. Others keep the hash when its own lease is over, so its
-- timer decides.
--
--   KEYS, last but one   name of the lock
--   KEYS, last           timer of the holder
--   ARGV, last           holder id

local __holder, __timer, __name = table.remove(ARGV), table.remove(KEYS), table.remove(KEYS)
local __held = redis.pcall('HEXISTS', __name, __holder)
if __held == 1 then __held = redis.call('EXISTS', __timer) end
local __taken = __held == 0 and redis.call('EXISTS', __name)
