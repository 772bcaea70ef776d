-- Raises counters to the token of a holder that got a greater one elsewhere.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock
--   KEYS[2i]     its counter
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   token
--   ARGV[3i]     ttl of the counter, ms; 0 for none
--
-- Returns TIME in µs, then three integers for each lock:
--    1, 0, token     written, now or by an earlier call: while the holder's key stands, nobody else
--                    writes
--    0, 0, counter   nothing was changed: the lock is not held by this holder, or the counter is
--                    greater already
--   -2, 0, 0         the key is of another type; nothing was changed
--   -3, 0, 0         the counter's key holds no counter, or that or the token is a day ahead of TIME; nothing
--                    was changed

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function promote(key, counter, holder, token, keep)
  local mine = redis.pcall('HEXISTS', key, holder)
  if type(mine) == 'table' then
    if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0, 0 end
    return mine
  end
  local before, failed = read(counter, now + AHEAD)
  if not before then return failed or -3, 0, 0 end
  -- Without both conditions a token could be given twice.
  if mine == 0 or before > token then return 0, 0, before end
  if token > now + AHEAD then return -3, 0, 0 end
  local unwritten = before < token and write(counter, token, keep)
  if unwritten then return unwritten end
  return 1, 0, token
end

local reply = { now }
for i = 1, #KEYS / 2 do
  local a = 3 * i - 2
  local code, value, token = promote(KEYS[2 * i - 1], KEYS[2 * i], ARGV[a],
    tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]))
  if type(code) == 'table' then return code end
  reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = code, value, token
end
return reply
