-- How places are taken, kept and left to the next: it stands behind queue.lua in one text.

-- Where it stands, 0 for the first; false if nowhere.
local function position(queue, waiter)
  local place = redis.pcall('LPOS', queue, waiter)
  if type(place) ~= 'table' then return place end
  -- A user without the right to that, or a server that does not know it.
  for i, other in ipairs(redis.pcall('LRANGE', queue, 0, -1)) do
    if other == waiter then return i - 1 end
  end
  return false
end

-- Sees to it that both keys end some day, though nobody were left to delete them, but not before who waits
-- for so long. The list first: Redisson's scripts fail at a place without a deadline. Its MultiLock gives both
-- an end that comes too early.
local function last(queue, deadlines, for_ms)
  redis.pcall('PEXPIRE', queue, for_ms + DAY_MS)
  redis.pcall('PEXPIRE', deadlines, for_ms + DAY_MS + MINUTE_MS)
end

-- The deadline of a place behind so many, of which `before` is the last. One that waits in Redisson may take
-- more than five minutes off. (Not more and more, in a queue that is never empty: ours take nothing off.)
local function due(deadlines, place, before, free_at)
  local least = free_at + (place + 1) * PLACE_MS
  local score = before and redis.pcall('ZSCORE', deadlines, before)
  score = type(score) == 'string' and tonumber(score) or 0
  if score > 0 and score < least + DAY_MS and not is_ours(before) then score = score + PLACE_MS end
  return math.max(least, score)
end

-- Prolongs a place that has half a turn less than it should, unless it is the first. Returns its deadline; nil
-- if there is none.
local function prolong(queue, deadlines, holder, deadline, now_ms, free_at)
  local place = position(queue, holder)
  if not place or place == 0 then return place and deadline end
  local before = redis.pcall('LINDEX', queue, place - 1)
  local wanted = due(deadlines, place, before, free_at)
  if deadline >= wanted - PLACE_MS / 2 then return deadline end
  -- First: on a server that is out of memory a script that has written may write more.
  last(queue, deadlines, wanted - now_ms)
  set(deadlines, holder, wanted)
  return wanted
end
