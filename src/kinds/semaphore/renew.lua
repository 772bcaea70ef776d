-- Tells whether permits are still held: nothing ends a hold, so there is nothing to renew. Changes
-- nothing. Behind foreign.lua.
--
-- For semaphore i of k:
--   KEYS[2i-1]   name of the semaphore
--   KEYS[2i]     who holds how many: a hash {holder id: permits}
--   ARGV[i]      holder id
--
-- Returns TIME in µs, then two integers for each semaphore:
--    1, 0    held by this holder
--    0, 0    gone: the holder has none, or there is no such semaphore
--   -2, 0    gone: the key of the holders is of another type

local function look(key, holders, holder)
  local mine = redis.pcall('HEXISTS', holders, holder)
  if type(mine) == 'table' then return foreign_or(mine) end
  return mine == 1 and redis.call('EXISTS', key) or 0, 0
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 2 do
  local code, value = look(KEYS[2 * i - 1], KEYS[2 * i], ARGV[i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
