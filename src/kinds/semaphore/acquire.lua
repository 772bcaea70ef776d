-- Acquires permits of semaphores, or confirms that they are held.
--
-- For semaphore i of k:
--   KEYS[3i-2]   name of the semaphore: a string, how many permits are left
--   KEYS[3i-1]   who holds how many: a hash {holder id: permits}, with the ttl of the semaphore
--   KEYS[3i]     wish of a holder that waits for several: for a while it keeps others out
--   ARGV[1]      for how long a hold is good, ms, as it is answered: nothing ends one
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[3i]     holder id
--   ARGV[3i+1]   how many permits
--   ARGV[3i+2]   1 if the caller waits for several, and may wish for them
--
-- Returns TIME in µs, and nothing else if all are held now. Otherwise an array of it and two integers
-- for each semaphore:
--    1, ms         held by this holder now
--    0, ms         fewer are left, or there is no such semaphore: -1; or a wish stands: to be asked again in so
--                  many ms
--   -1, 0          stale: the stamp is over; nothing was changed
--   -2, 0          a key is of another type, or no number; neither was touched
--   -6, -1         fewer are left, and a wish is to be withdrawn
--   error, 0       a command failed for want of memory or of a right: what was written for this
--                  semaphore is taken back, and the others go on

-- The usual case first, and without functions, which each call would make anew: those for what is in the
-- way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local in_time = now <= tonumber(args[2])
local left
for i = 1, #keys / 3 do
  local key, holders, holder, permits = keys[3 * i - 2], keys[3 * i - 1], args[3 * i], args[3 * i + 1]
  -- The semaphore, or a wish: how many of both there are.
  local count = in_time and call('EXISTS', key, keys[3 * i]) == 1 and call('GET', key)
  local is_done = false
  -- Whether it is a number as Redis writes them, DECRBY knows.
  if type(count) == 'string' and (tonumber(count) or 0) >= tonumber(permits)
    and call('HSET', holders, holder, permits) == 1 then
    -- Who holds them is known for as long as the semaphore lives. Redisson takes the ttl of one away when
    -- it adds permits.
    local ttl, lives = call('PTTL', key), nil
    if ttl == -1 then
      lives = call('PERSIST', holders)
    elseif type(ttl) == 'number' then
      lives = ttl > 0 and call('PEXPIRE', holders, ttl) or call('PERSIST', holders)
    end
    is_done = (lives == 0 or lives == 1) and type(call('DECRBY', key, permits)) == 'number'
    if not is_done then call('HDEL', holders, holder) end
  end
  if not is_done then
    left = left or {}
    left[i] = true
  end
end
if not left then return now end
