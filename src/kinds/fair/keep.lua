-- Prolongs places in queues that have less than half of their time left.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock
--   KEYS[3i-1]   queue of those who wait
--   KEYS[3i]     deadlines of their places
--   ARGV[i]      holder id
--
-- Returns TIME in µs, then two integers for each lock:
--    1, ms   its place lasts for so long now
--    0, 0    it has no place

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)

local function deadline(deadlines, waiter)
  local score = redis.pcall('ZSCORE', deadlines, waiter)
  return type(score) == 'string' and tonumber(score) or nil
end

local function keep(key, queue, deadlines, holder)
  local mine = deadline(deadlines, holder)
  if not mine then return 0, 0 end
  if mine - now_ms >= PLACE_MS / 2 then return 1, mine - now_ms end
  -- First: on a server that is out of memory a script that has written may write more.
  redis.pcall('PERSIST', deadlines)
  local before, by
  local free_at = now_ms + math.max(redis.call('PTTL', key), 0)
  for _, waiter in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    if waiter == holder then
      local place = math.max(before and deadline(deadlines, before) or 0, free_at)
      by = place + PLACE_MS - mine
    end
    -- Those behind it, too: with its grant they move up by as much, and would be over.
    if by then move(deadlines, waiter, by) end
    before = waiter
  end
  if not by then return 0, 0 end
  return 1, mine + by - now_ms
end

local reply = { now }
for i, holder in ipairs(ARGV) do
  reply[2 * i], reply[2 * i + 1] = keep(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], holder)
end
return reply
