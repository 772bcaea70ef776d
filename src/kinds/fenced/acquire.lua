-- Acquires locks with a fencing token each, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock: the hash of a plain one
--   KEYS[2i]     its counter: a string, a whole number
--   ARGV[1]      lease of all, ms
--   ARGV[2]      not-after stamp of all, µs of this server's clock
--   ARGV[3]      how far a hint may be from this server's clock, µs: one beyond is brought there
--   ARGV[4]      ttl of the counters, ms; 0 for none
--   ARGV[3+2i]   holder id
--   ARGV[4+2i]   hint: what a new token should be at least, µs since 1970 by the client's clock; or, negative,
--                the token of a hold that stands, which is written here once more
--
-- Returns TIME in µs, then three integers for each lock:
--    1, ttl in ms, token   held by this holder now. A new grant raises the counter; where its key
--                          stands already, the counter is its token. For a hold that stands, the counter is
--                          raised to its token and no further: no token is given
--    0, ttl in ms, 0       held by another; -1 if without a ttl
--   -1, 0, 0               stale: the stamp is over; nothing was changed
--   -2, 0, 0               the key is of another type, or a hash that is no lock; it was not touched
--   -5, 0, 0               it is a lock of another kind; it was not touched
--   -3, 0, 0               the counter's key holds none, or none that can be raised, or one that is a day
--                          ahead of TIME; nothing was changed
--   error, 0, 0            a command failed for want of memory or of a right. The counter is written
--                          first, and may be left raised, which costs a number

local keys, args = KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_ms, in_time = tonumber(args[1]), now <= tonumber(args[2])
local skew, keep = tonumber(args[3]), tonumber(args[4])

local function acquire_fenced(key, counter, holder, hint)
  local no, ttl, mine = in_the_way(key, holder, in_time)
  if no then return no, ttl, 0 end
  local token, failed = read(counter, now + math.max(AHEAD, skew))
  if not token then return failed or -3, 0, 0 end
  -- A counter that ran out or was deleted meanwhile knows the holder's token no longer.
  if mine == 0 or token == 0 then
    if hint < 0 then
      token = math.max(token, math.min(-hint, now + skew))
    else
      token = math.max(token + 1, now - skew, math.min(hint, now + skew))
    end
    if token > HIGHEST then return -3, 0, 0 end
    local unwritten = write(counter, token, keep)
    if unwritten then return unwritten end
  end
  local code, value = grant(key, holder, lease_ms, ttl)
  return code, value, token
end

local reply = { now }
for i = 1, #keys / 2 do
  local code, value, token =
    acquire_fenced(keys[2 * i - 1], keys[2 * i], args[2 * i + 3], tonumber(args[2 * i + 4]))
  if type(code) == 'table' then value, token = 0, 0 end
  reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = code, value, token
end
return reply
