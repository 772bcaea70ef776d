-- Asks for the turn to ask for a lock, or keeps it; a waiter that does not get it stands in line.
--
-- KEYS[1]   the id that has the turn, with a ttl
-- KEYS[2]   those behind: a sorted set of ids by when they came, in ms
-- ARGV[1]   id
-- ARGV[2]   how long a turn lasts, ms
-- ARGV[3]   how long a line lasts after the last question, ms
--
-- Returns TIME in µs and two integers:
--   0, 0           it is its turn
--   place, ttl     its place in the line, from 1, and the ttl of the turn of another, in ms

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- One that lasts longer is no turn: the clock was set back meanwhile, or another program wrote it.
local ttl = redis.call('PTTL', KEYS[1])
if ttl <= 0 or ttl > 60000 or redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return { now, 0, 0 }
end
redis.call('ZADD', KEYS[2], 'NX', math.floor(now / 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { now, redis.call('ZRANK', KEYS[2], ARGV[1]) + 1, ttl }
