-- How a reader begins: it stands before the acquire in one text.

-- Writes a reader with its timer. Returns the error of a command, then nothing was written; or nil and for how
-- long it is held, by the timer.
local function enter(key, timer, holder, mode, reads, lease_ms)
  local timed = keep_timer(timer, lease_ms)
  if type(timed) == 'table' then return timed end
  local written = redis.pcall('HSET', key, 'mode', mode or 'read', holder, '1')
  if type(written) ~= 'table' then return nil, timed end
  if not reads then redis.pcall('DEL', timer) end
  return written
end

-- Takes that back: scripts do not roll back, and a key without a ttl would stand for ever.
local function leave(key, timer, holder, mode)
  redis.pcall('DEL', timer)
  if mode then redis.pcall('HDEL', key, holder) else redis.pcall('DEL', key) end
end
