-- Prolongs places in queues that have half a turn less than they should.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock
--   KEYS[3i-1]   queue of those who wait
--   KEYS[3i]     deadlines of their places
--   ARGV[i]      holder id
--
-- Returns TIME in µs, then two integers for each lock:
--    1, ms   its place lasts for so long now; 0 of a first that has not looked for long
--    0, 0    it has no place

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)

local function keep(key, queue, deadlines, holder)
  local deadline = redis.pcall('ZSCORE', deadlines, holder)
  if type(deadline) ~= 'string' then return 0, 0 end
  local free_at = now_ms + math.max(redis.call('PTTL', key), 0)
  deadline = prolong(queue, deadlines, holder, tonumber(deadline), now_ms, free_at)
  if not deadline then return 0, 0 end
  return 1, math.max(deadline - now_ms, 0)
end

local reply = { now }
for i, holder in ipairs(ARGV) do
  reply[2 * i], reply[2 * i + 1] = keep(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], holder)
end
return reply
