-- How a place is taken and left: it stands before the acquire in one text.

-- The holder has the lock, and stands first no more: those behind it move up. Returns the error of a
-- command.
local function move_up(queue, deadlines, note, holder)
  local failed = shift(queue, deadlines, holder)
  if failed then return failed end
  redis.pcall('DEL', note)
  for _, waiter in ipairs(redis.pcall('LRANGE', queue, 0, -1)) do
    move(deadlines, waiter, -PLACE_MS)
  end
end

-- Whether who has a deadline stands in the queue: both are as long, unless somebody has cut one.
local function is_queued(queue, deadlines, holder)
  if redis.pcall('LLEN', queue) == redis.pcall('ZCARD', deadlines) then return true end
  local places = redis.pcall('LRANGE', queue, 0, -1)
  for _, waiter in ipairs(places) do
    if waiter == holder then return true end
  end
  return places.err ~= nil
end

-- Sees to it that the holder has a place. Returns whether it is new, or the error of a command.
local function stand(queue, deadlines, holder, ttl, now_ms)
  local score = redis.pcall('ZSCORE', deadlines, holder)
  if type(score) == 'table' then return score end
  local is_new = not score or not is_queued(queue, deadlines, holder)
  if is_new then
    local last = redis.pcall('LINDEX', queue, -1)
    local before = last and tonumber(redis.pcall('ZSCORE', deadlines, last)) or 0
    local deadline = math.max(before, now_ms + math.max(ttl, 0)) + PLACE_MS
    local added = redis.pcall('ZADD', deadlines, deadline, holder)
    if type(added) == 'table' then return added end
    added = redis.pcall('RPUSH', queue, holder)
    if type(added) == 'table' then
      redis.pcall('ZREM', deadlines, holder)
      return added
    end
  end
  -- Redisson's MultiLock gives both a ttl, and with it an end to all who wait.
  redis.pcall('PERSIST', queue)
  redis.pcall('PERSIST', deadlines)
  return is_new
end
