-- Whether the first in a queue does not come: it stands before the acquire in one text.

-- How long a free lock is left to the first in its queue: if nobody listens on its channel, and if
-- somebody does.
local SILENT_MS, DEAF_MS = 3000, 10000
-- For how long a note is kept.
local NOTE_MS = 300000

-- Whether this server knows of all who listen: not of those who listen to another of its cluster, or to
-- a replica.
local function knows_listeners()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  return type(server) == 'string' and string.find(server, '_mode:standalone', 1, true)
    and type(replication) == 'string' and string.find(replication, 'connected_slaves:0\r', 1, true)
end

-- For how long the lock is still left to the first in its queue, ms. nil if no longer; then, too, those
-- behind it that were silent for as long. Who was served or had its deadline moved since the note was made
-- has come meanwhile: it has another deadline.
local function patience(head, score, queue, deadlines, note, holder, channel, now_ms)
  local this = ' ' .. score .. ' ' .. head
  local noted = redis.pcall('GET', note)
  local since = type(noted) == 'string' and string.match(noted, '^%d+')
  local length = since and #since + #this
  -- A clock that was set back would leave the lock to it until it is where it was.
  if not since or string.sub(noted .. ' ', 1, length + 1) ~= since .. this .. ' '
    or tonumber(since) > now_ms then
    local behind = all_behind(queue, deadlines, holder, now_ms)
    redis.pcall('SET', note, now_ms .. this .. behind, 'PX', NOTE_MS)
    return SILENT_MS
  end
  local before = string.sub(noted, length + 1)
  local silent = still_silent(before, holder, now_ms)
  local free_for = now_ms - since
  local wait = SILENT_MS - free_for
  if wait <= 0 then
    -- It may have missed that the lock is free.
    local listeners = tell(channel, head)
    if free_for >= DEAF_MS then return nil, silent end
    if listeners == 0 and knows_listeners() then return nil, silent end
    wait = DEAF_MS - free_for
  end
  if silent ~= before then
    redis.pcall('SET', note, since .. this .. silent, 'PX', NOTE_MS)
  end
  return wait
end

-- Who may have a free lock: the first that comes, the holder if it is that, or nil if nobody waits; and
-- how long it is left to that one, ms. Or the error of a command.
local function next_one(queue, deadlines, note, holder, channel, now_ms)
  local silent, listeners = '', nil
  local head, score = first(queue, deadlines, channel, now_ms, holder)
  while head and head ~= holder and type(head) ~= 'table' do
    if listeners ~= 0 or not string.find(silent .. ' ', ' ' .. score .. ' ' .. head .. ' ', 1, true) then
      local wait
      wait, silent = patience(head, score, queue, deadlines, note, holder, channel, now_ms)
      if wait then return head, wait end
    end
    local failed = shift(queue, deadlines, head)
    if failed then return failed end
    redis.pcall('DEL', note)
    tell(channel, head)
    head, score = first(queue, deadlines, channel, now_ms, holder)
    if head and head ~= holder and type(head) ~= 'table' then listeners = tell(channel, head) end
  end
  return head
end
