-- How a place is taken and left for the lock: it stands before the acquire in one text.

-- The holder has the lock, and stands first no more. Returns the error of a command.
local function move_up(queue, deadlines, note, holder, free_at)
  local failed = shift(queue, deadlines, holder)
  if failed then return failed end
  redis.pcall('DEL', note)
  crown(queue, deadlines, now_ms, free_at)
end

-- Whether who has a deadline stands in the queue: both are as long, unless somebody has cut one.
local function is_queued(queue, deadlines, holder, length)
  return length == redis.pcall('ZCARD', deadlines) or position(queue, holder)
end

-- Takes a place at the end. Returns its deadline, or the error of a command.
local function enter(queue, deadlines, holder, length, free_at)
  local deadline = length == 0 and is_ours(holder) and now_ms + FIRST_MS
    or due(deadlines, length, redis.pcall('LINDEX', queue, -1), free_at)
  local added = redis.pcall('ZADD', deadlines, deadline, holder)
  if type(added) == 'table' then return added end
  added = redis.pcall('RPUSH', queue, holder)
  if type(added) == 'table' then
    redis.pcall('ZREM', deadlines, holder)
    return added
  end
  return deadline
end

-- Sees to it that the holder has a place. Returns whether it is new, or the error of a command.
local function stand(queue, deadlines, holder, head, free_at)
  local score, length = redis.pcall('ZSCORE', deadlines, holder), redis.pcall('LLEN', queue)
  if type(score) == 'table' then return score end
  if type(length) == 'table' then return length end
  local is_new = not score or head ~= holder and not is_queued(queue, deadlines, holder, length)
  local deadline = tonumber(score or 0)
  if is_new then
    deadline = enter(queue, deadlines, holder, length, free_at)
    if type(deadline) == 'table' then return deadline end
  elseif head == holder and is_ours(holder) then
    deadline = now_ms + FIRST_MS
    set(deadlines, holder, deadline)
  elseif head ~= holder and deadline < now_ms + PLACE_MS * 3 / 2 then
    deadline = prolong(queue, deadlines, holder, deadline, now_ms, free_at) or deadline
  end
  local least = deadline - now_ms + DAY_MS / 2
  if redis.pcall('PTTL', queue) < least or redis.pcall('PTTL', deadlines) < least then
    last(queue, deadlines, deadline - now_ms)
  end
  return is_new
end
