-- Writes how often locks are held, by readers or writers; a count of 0 releases, or withdraws a wish.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock
--   KEYS[3i-1]   timer of the holder, if it reads
--   KEYS[3i]     wish of a writer: its holder id
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   count
--   ARGV[3i]     channel on which a release is announced: 0 by the last reader, 1 and 0 by a writer
--
-- Returns TIME in µs, then two integers for each lock:
--    1, n    done. For a count of 0: announced to n listeners, -1 if it was not announced, since
--            others still read or the user may not
--    0, 0    gone: nobody holds it
--    0, 1    taken: held by others; nothing was changed
--   -2, 0    the key is of another type; it was not touched

-- The usual case first, the release of the last who holds it, and without functions, which each call would make
-- anew: those for what is in the way come behind it.
local call, keys, args = redis.call, KEYS, ARGV
local time = call('TIME')
local reply, left = { time[1] * 1000000 + time[2] }, nil
for i = 1, #keys / 3 do
  local key, holder, channel = keys[3 * i - 2], args[3 * i - 2], args[3 * i]
  local found = args[3 * i - 1] == '0' and redis.pcall('HMGET', key, holder, holder .. ':write')
  -- One of both, and no error.
  if found and not found.err and not found[1] ~= not found[2] and call('HLEN', key) == 2 then
    call('DEL', key)
    if found[1] then call('DEL', keys[3 * i - 1]) end
    local listeners = redis.pcall('PUBLISH', channel, found[2] and '1' or '0')
    -- A 1 wakes none of Redisson's who are about to sleep: see announce.lua.
    if found[2] and type(listeners) == 'number' then redis.pcall('PUBLISH', channel, '0') end
    reply[2 * i], reply[2 * i + 1] = 1, type(listeners) == 'number' and listeners or -1
  else
    left = left or {}
    left[i] = true
  end
end
if not left then return reply end
