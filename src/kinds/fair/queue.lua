-- The queue of a fair lock: it stands before the scripts that use it in one text.

-- For how long a place lasts behind the one before it, ms: as long as Redisson's by default.
local PLACE_MS = 300000

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

-- Who stands first, and its deadline; nil if nobody waits; or the error of a command. Those whose time
-- is over go, unless it is who asks, and those without a deadline, who would stand there for ever. If
-- they live, they are to know.
local function first(queue, deadlines, channel, now_ms, holder)
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
    if score and (head == holder or tonumber(score) > now_ms) then return head, score end
    local failed = shift(queue, deadlines, head)
    if failed then return failed end
    tell(channel, head)
  end
end

-- Moves a deadline, if there is one.
local function move(deadlines, waiter, by)
  redis.pcall('ZADD', deadlines, 'XX', 'INCR', by, waiter)
end

-- Tells whoever stands first: how many listen, -1 if the user may not announce it.
local function tell_first(queue, deadlines, channel, now_ms)
  local head = first(queue, deadlines, channel, now_ms)
  if not head then return 0 end
  return type(head) == 'table' and -1 or tell(channel, head)
end
