-- Who is silent behind a first in the queue that does not come: it stands before the acquire in one text.
--
-- Who waits here looks every two seconds, whether or not it is first: in the time that a free lock is left to the
-- first it has asked. Of those who have not, be they dead, stopped or not polled, all go with the first, and not
-- one by one: who stands near the head of the queue is noted together with it, and struck out when it asks.
-- Redisson's waiters sleep until they are told, and are judged when they are first. Two never hold the lock by it: it
-- only says who is next.

-- If nobody asked for so long, those who live could not either: the server stood still, or was
-- another one.
local GAP_MS = 5000
-- What is noted is renewed after so long, if nothing else changes.
local LOOKED_MS = 1000

-- A list of those who wait but one, each behind a space.
local function without(all, waiter)
  local from, to = string.find(all .. ' ', ' ' .. waiter .. ' ', 1, true)
  return from and string.sub(all, 1, from - 1) .. string.sub(all, to) or all
end

-- For a note: the time, and those behind the first but who asks. Empty if there are none.
local function all_behind(queue, holder)
  local behind = redis.pcall('LRANGE', queue, 1, MOST)
  return #behind > 0 and ' ' .. now_ms .. without(' ' .. table.concat(behind, ' '), holder) or ''
end

-- The same of those in a note that have not asked since. The holder asks now.
local function still_silent(noted, holder)
  local looked, all = string.match(noted, '^ (%d+)(.*)$')
  local gap = looked and now_ms - looked
  if not gap or gap < 0 or gap > GAP_MS then return '' end
  local others = without(all, holder)
  return others == all and gap < LOOKED_MS and noted or ' ' .. now_ms .. others
end

-- Takes those of a note who are silent out of the queue: all of ours, or those who listen for nothing. If they
-- live, they are to know. Returns the others of ours.
local function drop(queue, deadlines, channel, silent, all)
  local others = ''
  for waiter in string.gmatch(silent, '%S+') do
    local listeners = is_ours(waiter) and tell(channel, waiter)
    if listeners and (all or listeners == 0) then
      redis.pcall('LREM', queue, 1, waiter)
      redis.pcall('ZREM', deadlines, waiter)
    elseif listeners then
      others = others .. ' ' .. waiter
    end
  end
  return others
end
