-- Acquires permits of semaphores, or confirms that they are held.
--
-- For semaphore i of k:
--   KEYS[2i-1]   name of the semaphore: a string, how many permits are left
--   KEYS[2i]     who holds how many: a hash {holder id: permits}, with the ttl of the semaphore
--   ARGV[1]      for how long a hold is good, ms, as it is answered: nothing ends one
--   ARGV[2]      not-after stamp of all, µs of this server's clock: a later execution changes nothing
--   ARGV[1+2i]   holder id
--   ARGV[2+2i]   how many permits
--
-- Returns TIME in µs, and nothing else if all are held now. Otherwise an array of it and two integers
-- for each semaphore:
--    1, ms         held by this holder now
--    0, -1         fewer are left, or there is no such semaphore
--   -1, 0          stale: the stamp is over; nothing was changed
--   -2, 0          a key is of another type, or no number; neither was touched
--   error, 0       a command failed for want of memory or of a right: what was written for this
--                  semaphore is taken back, and the others go on

-- The usual case first, and without functions, which each call would make anew: those for what is in the
-- way come behind it.
local call, keys, args = redis.pcall, KEYS, ARGV
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local in_time = now <= tonumber(args[2])
local left
for i = 1, #keys / 2 do
  local key, holders, holder, permits = keys[2 * i - 1], keys[2 * i], args[2 * i + 1], args[2 * i + 2]
  local count, is_done = in_time and call('GET', key), false
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
