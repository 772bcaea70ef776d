-- What release.lua could not simply release: this stands behind it and queue.lua in one text.

time = time or redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
local now_ms = math.floor(reply[1] / 1000)

-- Gives up a place. Returns whether it was the first.
local function leave(queue, deadlines, note, holder)
  local head = redis.pcall('LINDEX', queue, 0)
  -- Where others keep something else, nothing of ours stands.
  if type(head) == 'table' then return false end
  redis.pcall('ZREM', deadlines, holder)
  if redis.call('LREM', queue, 0, holder) == 0 or head ~= holder then return false end
  redis.call('DEL', note)
  return true
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
  local ttl = redis.call('PTTL', key)
  if was_first then crown(queue, deadlines, now_ms, now_ms + math.max(ttl, 0)) end
  if ttl ~= -2 then return 0, 1 end
  if was_first then tell_first(queue, deadlines, channel, now_ms) end
  return 0, 0
end

for i = 1, #KEYS / 4 do
  local code, value = release(KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i],
    ARGV[2 * i - 1], ARGV[2 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
