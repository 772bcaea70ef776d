-- Whether permits with leases are held, all of them: see wire/hold_check.rs. Their ends are by the clock of this
-- server: the last two bytes of each say by how much longer it is written.
--
--   KEYS, last but one   name of the semaphore
--   KEYS, last           leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV, last           the permits, 16 bytes each

local __ids, __leases, __name = table.remove(ARGV), table.remove(KEYS), table.remove(KEYS)
local __held, __time = redis.call('EXISTS', __name), redis.call('TIME')
for at = 1, #__ids, 16 do
  local ends = __held == 1 and redis.pcall('ZSCORE', __leases, string.sub(__ids, at, at + 15))
  if type(ends) == 'table' then __held = ends end
  if not ends then __held = 0 break end
  local high, low = string.byte(__ids, at + 14, at + 15)
  if type(ends) == 'string' and ends - high * 256 - low <= __time[1] * 1000 + math.floor(__time[2] / 1000) then
    __held = 0
  end
end
local __taken = 0
