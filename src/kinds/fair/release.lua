-- Releases locks, or gives up places in their queues. Whoever is next is told.
--
-- For lock i of k:
--   KEYS[4i-3]   name of the lock
--   KEYS[4i-2]   queue of those who wait
--   KEYS[4i-1]   deadlines of their places
--   KEYS[4i]     note of a first in the queue that does not come
--   ARGV[2i-1]   holder id
--   ARGV[2i]     channel of those who wait, before the colon and the holder id of each
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    released; n listeners heard of it, -1 if the user may not announce it
--    0, 0    gone: nobody holds it
--    0, 1    taken: held by another; it was not touched
--   -2, 0    the key is of another type; it was not touched

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)

-- Gives up a place: those behind it move up. Returns whether it was the first.
local function leave(queue, deadlines, note, holder)
  local places = redis.pcall('LRANGE', queue, 0, -1)
  -- Where others keep something else, nothing of ours stands.
  if places.err then return false end
  -- First: on a server that is out of memory a script that has written may write more.
  redis.pcall('ZREM', deadlines, holder)
  local own
  for i, waiter in ipairs(places) do
    if own then move(deadlines, waiter, -PLACE_MS) end
    if waiter == holder then own = own or i end
  end
  if not own then return false end
  redis.call('LREM', queue, 0, holder)
  if own == 1 then redis.call('DEL', note) end
  return own == 1
end

local function release(key, queue, deadlines, note, holder, channel)
  local mine = redis.pcall('HEXISTS', key, holder)
  if mine == 1 then
    redis.call('DEL', key)
    return 1, tell_first(queue, deadlines, channel, now_ms)
  end
  local was_first = leave(queue, deadlines, note, holder)
  if type(mine) == 'table' then
    if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return mine
  end
  if redis.call('PTTL', key) ~= -2 then return 0, 1 end
  if was_first then tell_first(queue, deadlines, channel, now_ms) end
  return 0, 0
end

local reply = { now }
for i = 1, #KEYS / 4 do
  local code, value = release(KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i],
    ARGV[2 * i - 1], ARGV[2 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
