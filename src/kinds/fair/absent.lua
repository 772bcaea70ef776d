-- Whether the first in a queue does not come: it stands before the acquire in one text.

-- How long a free lock is left to the first in its queue: if nobody listens on its channel, and if
-- somebody does.
local SILENT_MS, DEAF_MS = 3000, 10000
-- Most firsts come sooner. Who looks meanwhile does so once more before anybody is judged.
local USUAL_MS = 500
-- For how long a note is kept.
local NOTE_MS = 300000

local function write(note, since, this, silent)
  redis.pcall('SET', note, since .. this .. silent, 'PX', NOTE_MS)
end

-- For how long the lock is still left to the first in its queue, ms. nil if no longer; then, too, since when it
-- was, who was silent for as long, and whether they go even if they listen. Who was served or had its deadline
-- moved since the note was made has come meanwhile: it has another deadline.
local function patience(head, score, queue, note, holder, channel)
  local this = ' ' .. score .. ' ' .. head
  local noted = redis.pcall('GET', note)
  local since = type(noted) == 'string' and string.match(noted, '^%d+')
  local length = since and #since + #this
  -- A clock that was set back would leave the lock to it until it is where it was.
  if not since or string.sub(noted .. ' ', 1, length + 1) ~= since .. this .. ' '
    or tonumber(since) > now_ms then
    write(note, now_ms, this, all_behind(queue, holder))
    return SILENT_MS
  end
  local free_for = now_ms - since
  local wait = SILENT_MS - free_for
  if free_for < USUAL_MS then return wait end
  local before = string.sub(noted, length + 1)
  local silent = still_silent(before, holder)
  if wait <= 0 then
    -- It may have missed that the lock is free.
    local listeners = tell(channel, head)
    if free_for >= DEAF_MS then return nil, since, silent, true end
    if listeners == 0 and knows_listeners() then return nil, since, silent, false end
    wait = DEAF_MS - free_for
  end
  if silent ~= before then write(note, since, this, silent) end
  return wait
end

-- Whoever is first now has been silent for as long as the one before it, or is noted anew.
local function note_next(note, since, head, score, silent)
  local behind = without(silent, head)
  if behind == silent then return redis.pcall('DEL', note) end
  write(note, since, ' ' .. score .. ' ' .. head, ' ' .. now_ms .. behind)
end

-- Who may have a free lock: the first that comes, the holder if it is that, or nil if nobody waits; and
-- how long it is left to that one, ms. Or the error of a command.
local function next_one(queue, deadlines, note, holder, channel)
  local head, score = first(queue, deadlines, channel, now_ms, nil, holder)
  while head and head ~= holder and type(head) ~= 'table' do
    local wait, since, silent, all = patience(head, score, queue, note, holder, channel)
    if wait then return head, wait end
    local failed = shift(queue, deadlines, head)
    if failed then return failed end
    silent = drop(queue, deadlines, channel, silent, all)
    crown(queue, deadlines, now_ms, now_ms)
    head, score = first(queue, deadlines, channel, now_ms, nil, holder)
    if not head or type(head) == 'table' then
      redis.pcall('DEL', note)
    else
      note_next(note, since, head, score, silent)
      if head ~= holder then tell(channel, head) end
    end
  end
  return head
end
