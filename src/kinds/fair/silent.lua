-- Who is silent behind a first in the queue that does not come: it stands before the acquire in one text.
--
-- A queue that a failover or a backup brought back may be full of those who left. What is heard of each
-- is noted together with the first of them, so that all go when that one does, and not one by one.
--
-- Nobody goes by it who lives and can reach the server. Who waits here looks every two seconds, whether
-- or not it is first: in the time that the lock is left to the first it has asked. It is spared
-- as well if anybody listens on its channel, asked or not: its program may stand still, or wait until this
-- server's votes count for it. Redisson's waiters sleep until they are told: of them nothing is noted, and
-- each is judged when it is the first. Two never hold the lock by it: it only says who is next.

-- Of how many it is noted: a long queue is to cost no more than that, and lives as a rule.
local MOST = 32
-- If nobody asked for so long, those who live could not either: the server stood still, or was
-- another one.
local GAP_MS = 5000

-- Whether it is one of ours: their uuids have version 8, and Redisson's version 4.
local function is_ours(waiter)
  return string.find(waiter, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
end

-- For a note: the time, and the deadlines and holder ids of those between the first and who asks. Empty if
-- there are none.
local function all_behind(queue, deadlines, holder, now_ms)
  local behind = ''
  for _, waiter in ipairs(redis.pcall('LRANGE', queue, 1, MOST)) do
    if waiter == holder then break end
    local score = is_ours(waiter) and redis.pcall('ZSCORE', deadlines, waiter)
    if type(score) == 'string' then behind = behind .. ' ' .. score .. ' ' .. waiter end
  end
  return behind ~= '' and ' ' .. now_ms .. behind or ''
end

-- The same of those in a note that have not asked since. The holder asks now.
local function still_silent(noted, holder, now_ms)
  local looked, all = string.match(noted, '^ (%d+)(.*)$')
  local gap = looked and now_ms - looked
  if not gap or gap < 0 or gap > GAP_MS then return '' end
  local behind = ''
  for score, waiter in string.gmatch(all, ' (%S+) (%S+)') do
    if waiter ~= holder then behind = behind .. ' ' .. score .. ' ' .. waiter end
  end
  return behind ~= '' and ' ' .. now_ms .. behind or ''
end
