-- Leaves the line, and gives the turn, if it has it or takes it, to the first in line that listens. The one that
-- is first then is told so. To say it twice does no harm.
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
--   0, 0   it was not passed on

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local rank = redis.call('ZRANK', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
local passes_on = redis.call('GET', KEYS[1]) == ARGV[1] or (rank and ARGV[4] == '1')
if not passes_on and rank ~= 0 then return { now, 0, 0 } end
local passed = 0
-- One without a listener is gone. A line of very many of them is not looked through at once.
for _ = 1, 256 do
  local id = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not id then break end
  local has_turn = passes_on and passed == 0
  -- Before it is told: it may look at once.
  if has_turn then redis.call('SET', KEYS[1], id, 'PX', ARGV[2]) end
  local hears = redis.call('PUBLISH', ARGV[3] .. id, has_turn and '0' or '1') ~= 0
  if hears and not has_turn then break end
  redis.call('ZREM', KEYS[2], id)
  if hears then passed = 1 end
end
if passes_on and passed == 0 then redis.call('PEXPIRE', KEYS[1], 0) end
return { now, passed, 0 }
