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

-- For how long the lock is still left to the first in its queue, ms; nil if no longer. Who was served or
-- had its deadline moved since the note was made has come meanwhile: it has another deadline.
local function patience(note, head, score, channel, now_ms)
  local this = ' ' .. score .. ' ' .. head
  local noted = redis.pcall('GET', note)
  local since = type(noted) == 'string' and string.match(noted, '^%d+')
  -- A clock that was set back would leave the lock to it until it is where it was.
  if not since or noted ~= since .. this or tonumber(since) > now_ms then
    redis.pcall('SET', note, now_ms .. this, 'PX', NOTE_MS)
    return SILENT_MS
  end
  local free_for = now_ms - since
  if free_for < SILENT_MS then return SILENT_MS - free_for end
  -- It may have missed that the lock is free.
  local is_silent = tell(channel, head) == 0 and knows_listeners()
  if not is_silent and free_for < DEAF_MS then return DEAF_MS - free_for end
end

-- Who may have a free lock: the first that comes, the holder if it is that, or nil if nobody waits; and
-- how long it is left to that one, ms. Or the error of a command.
local function next_one(queue, deadlines, note, holder, channel, now_ms)
  local head, score = first(queue, deadlines, channel, now_ms, holder)
  while head and head ~= holder and type(head) ~= 'table' do
    local wait = patience(note, head, score, channel, now_ms)
    if wait then return head, wait end
    local failed = shift(queue, deadlines, head)
    if failed then return failed end
    redis.pcall('DEL', note)
    tell(channel, head)
    head, score = first(queue, deadlines, channel, now_ms, holder)
    if head and head ~= holder and type(head) ~= 'table' then tell(channel, head) end
  end
  return head
end
