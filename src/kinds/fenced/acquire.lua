-- Acquires locks with a fencing token each, or confirms that they are held.
--
-- For lock i of k:
--   KEYS[2i-1]   name of the lock: the hash of a plain one
--   KEYS[2i]     its counter: a string, a whole number
--   ARGV[7i-6]   holder id
--   ARGV[7i-5]   count to write
--   ARGV[7i-4]   lease, ms
--   ARGV[7i-3]   not-after stamp, µs of this server's clock
--   ARGV[7i-2]   hint: what a new token should be at least, µs since 1970 by the client's clock
--   ARGV[7i-1]   how far a hint may be from this server's clock, µs: one beyond is brought there
--   ARGV[7i]     ttl of the counter, ms; 0 for none
--
-- Returns TIME in µs, then three integers for each lock:
--    1, ttl in ms, token   held by this holder now. A new grant raises the counter; where its key
--                          stands already, the counter is its token
--    0, ttl in ms, 0       held by another; -1 if without a ttl
--   -1, 0, 0               stale: the stamp is over; nothing was changed
--   -2, 0, 0               the key is of another type, or a hash that is no lock; it was not touched
--   -3, 0, 0               the counter's key holds none, or none that can be raised; nothing was
--                          changed
-- The counter is written first: out of memory is an error of the call before anything was changed.
-- A missing permission is one too; it may leave the counter raised, which costs a number.

local function acquire(key, counter, bid, now)
  local no, ttl, mine = in_the_way(key, bid.holder, bid.not_after, now)
  if no then return no, ttl, 0 end
  local token, failed = read(counter)
  if not token then return failed or -3, 0, 0 end
  -- A counter that ran out or was deleted meanwhile knows the holder's token no longer.
  if mine == 0 or token == 0 then
    local hint = math.max(now - bid.skew, math.min(bid.hint, now + bid.skew))
    token = math.max(token + 1, hint)
    if token > HIGHEST then return -3, 0, 0 end
    write(counter, token, bid.keep)
  end
  local code, value = grant(key, bid.holder, bid.count, bid.lease, ttl, mine)
  return code, value, token
end

local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 2 do
  local a = 7 * i - 6
  local bid = {
    holder = ARGV[a], count = ARGV[a + 1], lease = tonumber(ARGV[a + 2]),
    not_after = tonumber(ARGV[a + 3]), hint = tonumber(ARGV[a + 4]),
    skew = tonumber(ARGV[a + 5]), keep = tonumber(ARGV[a + 6]),
  }
  local code, value, token = acquire(KEYS[2 * i - 1], KEYS[2 * i], bid, reply[1])
  if type(code) == 'table' then return code end
  reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = code, value, token
end
return reply
