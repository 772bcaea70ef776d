-- Leaves the line, and gives the turn, if it has it or takes it, to the first in line that listens. To say it twice
-- does no harm.
--
-- KEYS[1]   the id that has the turn, with a ttl
-- KEYS[2]   those behind: a sorted set of ids by when they came, in ms
-- ARGV[1]   id
-- ARGV[2]   how long a turn lasts, ms
-- ARGV[3]   what the channels begin with on which each is told; its id follows
-- ARGV[4]   1 if it takes the turn from another that does not use it, or 0
--
-- Returns TIME in µs and two integers:
--   1, 0   another has the turn now
--   0, 0   none was told

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stood = redis.call('ZREM', KEYS[2], ARGV[1])
local takes = stood == 1 and ARGV[4] == '1'
if not takes and redis.call('GET', KEYS[1]) ~= ARGV[1] then return { now, 0, 0 } end
-- One without a listener is gone. A line of very many of them is not looked through at once.
for _ = 1, 256 do
  local id = redis.call('ZPOPMIN', KEYS[2])[1]
  if not id then break end
  -- Before it is told: it may look at once.
  redis.call('SET', KEYS[1], id, 'PX', ARGV[2])
  if redis.call('PUBLISH', ARGV[3] .. id, '0') ~= 0 then return { now, 1, 0 } end
end
redis.call('PEXPIRE', KEYS[1], 0)
return { now, 0, 0 }
