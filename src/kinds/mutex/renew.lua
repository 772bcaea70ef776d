-- Renews leases.
--
-- For lock i of k:
--   KEYS[i]      name of the lock
--   ARGV[2i-1]   holder id
--   ARGV[2i]     lease, ms; 0 only asks
--
-- Returns TIME in µs, then two integers for each lock:
--    1, ttl in ms   still held by this holder; the ttl is at least the lease now
--                   (-1 if it was only asked for and the key has none)
--    0, 0           gone: nobody holds it
--    0, 1           taken: held by another
--   -2, 0           gone: the key is of another type; it was not touched

local function renew(key, holder, lease)
  local mine = redis.pcall('HEXISTS', key, holder)
  if type(mine) == 'table' then
    if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return mine
  end
  local ttl = redis.call('PTTL', key)
  if mine == 0 then return 0, ttl == -2 and 0 or 1 end
  -- To a key without a ttl, 0 ms would be its end.
  if ttl >= lease or lease == 0 then return 1, ttl end
  redis.call('PEXPIRE', key, lease)
  return 1, lease
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local code, value = renew(key, ARGV[2 * i - 1], tonumber(ARGV[2 * i]))
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
