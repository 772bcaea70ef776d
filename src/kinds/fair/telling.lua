-- Who is told that a lock is free: it stands behind queue.lua in one text.

-- How many at the head of a queue are looked at, at most.
local MOST = 256

-- Whether this server knows of all who listen: not of those who listen to another of its cluster, or to
-- a replica.
local function knows_listeners()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  return type(server) == 'string' and string.find(server, '_mode:standalone', 1, true)
    and type(replication) == 'string' and string.find(replication, 'connected_slaves:0\r', 1, true)
end

-- Behind those of ours that seem to be dead the next one is told, too: Redisson's would sleep for as long as the
-- lock was held. It takes them out itself once they have not looked for as long as a first may.
local function hurry(queue, deadlines, channel, now_ms)
  local waiters = redis.pcall('LRANGE', queue, 0, MOST)
  local theirs = 1
  while waiters[theirs] and is_ours(waiters[theirs]) do theirs = theirs + 1 end
  for i = 1, waiters[theirs] and theirs or 0 do
    if i > 1 and (tell(channel, waiters[i]) ~= 0 or i == theirs) then return end
    set(deadlines, waiters[i], now_ms + FIRST_MS)
  end
end

-- Tells whoever stands first: how many listen, -1 if the user may not announce it.
local function tell_first(queue, deadlines, channel, now_ms)
  local head, score = first(queue, deadlines, channel, now_ms)
  if not head then return 0 end
  if type(head) == 'table' then return -1 end
  local listeners = tell(channel, head)
  -- Who has just looked may not listen yet.
  local looked = tonumber(score) - FIRST_MS
  if listeners == 0 and is_ours(head) and math.abs(now_ms - looked) > 100 and knows_listeners() then
    hurry(queue, deadlines, channel, now_ms)
  end
  return listeners
end
