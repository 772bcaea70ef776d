-- Writes how often locks are held, by readers or writers; a count of 0 releases, or withdraws a wish.
--
-- For lock i of k:
--   KEYS[3i-2]   name of the lock
--   KEYS[3i-1]   timer of the holder, if it reads
--   KEYS[3i]     wish of a writer: its holder id
--   ARGV[3i-2]   holder id
--   ARGV[3i-1]   count
--   ARGV[3i]     channel on which a release is announced: 0 by the last reader, 1 and 0 by a writer
--   ARGV[3k+1]   there of one lock if nobody asks for the time
--
-- Returns n alone if nobody asks for the time, and who had it as the last or read it with others has released
-- it. Else TIME in µs, then two integers for each lock:
--    1, n    done. For a count of 0: announced to n listeners, -1 if it was not announced, since
--            others still read or the user may not. Readers that died are no others
--    0, 0    gone: nobody holds it
--    0, 1    taken: held by others; nothing was changed
--   -2, 0    the key is of another type; it was not touched

-- The usual cases first, the release of the last who holds one, or of one of many readers, and without functions,
-- which each call would make anew: those for what is in the way come behind it. A table costs as much as two
-- commands, be it of an answer.
local call, keys, args = redis.pcall, KEYS, ARGV
local brief = #keys == 3 and args[4]
local time = not brief and redis.call('TIME')
local fields = #keys == 3 and args[2] == '0' and call('HLEN', keys[1])
if type(fields) == 'number' and fields >= 2 then
  local key, holder, channel, listeners = keys[1], args[1], args[3], nil
  if fields > 2 then
    -- One that writes, too, is not for here, nor one who leaves those alone who died: of three fields, one is
    -- another's.
    local timers, some, other_lives = string.sub(keys[3], 1, -16), call('HRANDFIELD', key, 3, 'WITHVALUES'), false
    for i = 1, #some, 2 do
      local other = some[i] ~= 'mode' and some[i] ~= holder and not other_lives and some[i]
      other_lives = other_lives or other and call('EXISTS', key, timers .. other .. ':rwlock_timeout:1') == 2
    end
    if other_lives and call('HEXISTS', key, holder .. ':write') == 0 and call('HDEL', key, holder) == 1 then
      redis.call('DEL', keys[2])
      listeners = -1
    end
  elseif call('HEXISTS', key, holder .. ':write') == 1 then
    redis.call('DEL', key)
    listeners = call('PUBLISH', channel, '1')
    -- A 1 wakes none of Redisson's who are about to sleep: see announce.lua.
    if type(listeners) == 'number' then call('PUBLISH', channel, '0') end
  elseif call('HEXISTS', key, holder) == 1 then
    redis.call('DEL', key, keys[2])
    listeners = call('PUBLISH', channel, '0')
  end
  if listeners then
    if type(listeners) ~= 'number' then listeners = -1 end
    return brief and listeners or { time[1] * 1000000 + time[2], 1, listeners }
  end
end
