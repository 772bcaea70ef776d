-- Renews leases.
--
-- For lock i of k:
--   KEYS[i]      name of the lock
--   ARGV[1]      lease of all, ms; 0 only asks
--   ARGV[1+i]    holder id
--
-- Returns TIME in µs, and nothing else if all are still held by these holders, for the lease now.
-- Otherwise an array of it and two integers for each lock:
--    1, ttl in ms   still held by this holder; the ttl is at least the lease now
--                   (-1 if it was only asked for and the key has none)
--    0, 0           gone: nobody holds it
--    0, 1           taken: held by another
--   -2, 0           gone: the key is of another type; it was not touched

local call, ask, keys, args = redis.pcall, redis.call, KEYS, ARGV
local time = ask('TIME')
local now = time[1] * 1000000 + time[2]
local lease, lease_ms = args[1], tonumber(args[1])
-- Since 7.0, as GT is: it spares a look at the ttl, which is never shortened of a live hold.
local quick = redis.REDIS_VERSION_NUM and lease_ms > 0
local left
for i = 1, #keys do
  local key = keys[i]
  if not (quick and call('HEXISTS', key, args[i + 1]) == 1
    and call('PEXPIRE', key, lease, 'GT') == 1) then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end

local function renew(key, holder)
  local mine = call('HEXISTS', key, holder)
  if type(mine) == 'table' then
    if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return mine
  end
  local ttl = ask('PTTL', key)
  if mine == 0 then return 0, ttl == -2 and 0 or 1 end
  -- To a key without a ttl, 0 ms would be its end.
  if lease_ms == 0 or ttl > lease_ms then return 1, ttl end
  ask('PEXPIRE', key, lease)
  return 1, lease_ms
end

local reply = { now }
for i, key in ipairs(keys) do
  local code, value = 1, lease_ms
  if left[i] then code, value = renew(key, args[i + 1]) end
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
