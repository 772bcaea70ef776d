-- The queue of a fair lock: it stands before the scripts that use it in one text.
--
-- Queues may be long, and nothing here goes through one: of the deadlines only those of the first, of
-- who asks and of the one before it are read. Redisson takes the wait of whoever is granted the lock, five
-- minutes by default, off all deadlines, and takes out a first whose own is over. So a place lasts for that long
-- times its number, and with our grants nobody moves.

-- How long a place lasts, times its number, ms: as long as Redisson's by default.
local PLACE_MS = 300000
-- One of ours that is first looks every two seconds. Redisson takes it out once it has not for so long.
local FIRST_MS = 10000
local MINUTE_MS, DAY_MS = 60000, 86400000

-- Whether it is one of ours: their uuids have version 8, and Redisson's version 4.
local function is_ours(waiter)
  return string.find(waiter, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
end

-- Tells a waiter to look. Returns how many listen, or -1 if the user may not announce it.
local function tell(channel, waiter)
  local listeners = redis.pcall('PUBLISH', channel .. ':' .. waiter, '0')
  return type(listeners) == 'table' and -1 or listeners
end

-- Takes the first out of the queue. Returns the error of a command.
local function shift(queue, deadlines, head)
  local popped = redis.pcall('LPOP', queue)
  if type(popped) == 'table' then return popped end
  redis.pcall('ZREM', deadlines, head)
end

-- Sets the deadline of a place that there is.
local function set(deadlines, waiter, deadline)
  redis.pcall('ZADD', deadlines, 'XX', deadline, waiter)
end

-- Of who has come to be first: one of ours is to look soon, and Redisson's has its time from when the lock is
-- free. What it had before is of the places that were before it.
local function crown(queue, deadlines, now_ms, free_at)
  local head = redis.pcall('LINDEX', queue, 0)
  if type(head) ~= 'string' then return end
  set(deadlines, head, is_ours(head) and now_ms + FIRST_MS or free_at + PLACE_MS)
end

-- Who stands first, and its deadline; nil if nobody waits; or the error of a command. Those without a
-- deadline go, who would stand there for ever. So do those of Redisson's whose time is over, but not before
-- they could come: for a lock that is held until `held_until`, they are left more. If they live, they are to
-- know. Of ours that do not come others decide (absent.lua).
local function first(queue, deadlines, channel, now_ms, held_until, holder)
  local shifted = false
  while true do
    local head = redis.pcall('LINDEX', queue, 0)
    if not head then
      -- Of a queue that somebody deleted: whoever waits takes a place anew.
      if redis.pcall('ZCARD', deadlines) ~= 0 then
        redis.pcall('ZREMRANGEBYSCORE', deadlines, '-inf', '+inf')
      end
      return nil
    end
    if type(head) == 'table' then return head end
    local score = redis.pcall('ZSCORE', deadlines, head)
    if type(score) == 'table' then return score end
    local is_theirs = score and head ~= holder and not is_ours(head)
    if is_theirs and held_until and tonumber(score) < held_until + PLACE_MS / 2 then
      set(deadlines, head, held_until + PLACE_MS)
    end
    if score and (not is_theirs or held_until or tonumber(score) > now_ms) then
      if not shifted then return head, score end
      crown(queue, deadlines, now_ms, held_until or now_ms)
      return head, redis.pcall('ZSCORE', deadlines, head)
    end
    local failed = shift(queue, deadlines, head)
    if failed then return failed end
    shifted = true
    tell(channel, head)
  end
end
