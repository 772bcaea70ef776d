-- Renews leases of permits. Behind foreign.lua and leases.lua.
--
-- For semaphore i of k:
--   KEYS[2i-1]   name of the semaphore
--   KEYS[2i]     leases: a sorted set {16 bytes of a permit: its end, ms since 1970}
--   ARGV[1]      lease of all, ms; 0 only asks
--   ARGV[2]      how far clocks may be apart, ms: ours are written so much longer
--   ARGV[2+i]    the permits, 16 bytes each
--
-- Returns TIME in µs, and nothing else if all are still held, for the lease now. Otherwise an array of
-- it and two integers for each semaphore:
--    1, ms   still held by this holder, for at least the lease now
--    0, 0    gone: one of them has no lease any more, or there is no such semaphore
--   -2, 0    gone: a key is of another type

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local lease_ms, skew_ms = tonumber(ARGV[1]), tonumber(ARGV[2])

local function renew(key, leases, ids)
  local permits = each(ids)
  local failed, mine, ends = find(leases, permits)
  if failed then return foreign_or(failed) end
  if #mine < #permits or redis.call('EXISTS', key) == 0 then return 0, 0 end
  if lease_ms > 0 then
    local at = now_ms + lease_ms + skew_ms
    failed = extend(leases, mine, ends, at)
    if failed then
      -- On a server that is out of memory a script that has written may write more.
      redis.pcall('ZREM', leases, '')
      failed = extend(leases, mine, ends, at)
    end
    if failed then return failed end
    return 1, lease_ms
  end
  return 1, math.max(0, math.min(never, unpack(ends)) - skew_ms - now_ms)
end

local reply, is_plain = { now }, lease_ms > 0
for i = 1, #KEYS / 2 do
  local code, value = renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 + i])
  if type(code) == 'table' then return code end
  is_plain = is_plain and code == 1
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
