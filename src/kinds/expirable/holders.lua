-- Tells the permits of a semaphore. Changes nothing. Behind count.lua and ours.lua.
--
--   KEYS[1]      name of the semaphore
--   KEYS[2]      leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV[1]      how far clocks may be apart, ms: leases of others that are over for so long count as ended
--
-- Returns TIME in µs, then, if there is such a semaphore: how many permits are to be had, and of each
-- that has a lease its 16 bytes in hexadecimal digits, and when it ends, ms from now.
-- A key of another type, or no number, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local left, failed = count_at(KEYS[1])
if left == false then return redis.error_reply('WRONGTYPE The key holds no count') end
if left == nil then return failed or { now } end

local function hexadecimal(bytes)
  return (string.gsub(bytes, '.', function(byte) return string.format('%02x', string.byte(byte)) end))
end

local now_ms = math.floor(now / 1000)
local reply = { now, left }
local leases = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #leases, 2 do
  local id, at = leases[i], tonumber(leases[i + 1])
  local over_ms = over_at(id, at, ARGV[1]) - now_ms
  if over_ms <= 0 then
    reply[2] = reply[2] + 1
  else
    reply[#reply + 1] = hexadecimal(id)
    -- Of others, as they have it.
    reply[#reply + 1] = math.min(over_ms, at - now_ms)
  end
end
return reply
