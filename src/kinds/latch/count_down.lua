-- Counts a latch down by one. Behind once.lua, count.lua and raise.lua.
--
--   KEYS[1]      name of the latch: a string, how often it is still to be counted down
--   ARGV[2]      channel on which zero is announced (not a key: a key that does not exist makes a
--                cluster answer TRYAGAIN while its slot moves)
--   ARGV[3]      where its generation stands, which a user need not have a right to (no key, as well)
--
-- Answers, besides those of once.lua
--    1, 0    counted down
--    0, 0    it is not set, or was at zero
--   -2, 0    the key is of another type, or no number; it was not touched

local count, failed = count_at(KEYS[1])
if count == nil and failed then return failed end
if count == false then return once(-2) end
if count == nil then return once(0) end
return once(count > 0 and 1 or 0, function()
  if count > 1 then return redis.pcall('DECR', KEYS[1]) end
  -- Redisson counts, then deletes. In one step, none is left at zero by a user who may not delete.
  local deleted = redis.pcall('DEL', KEYS[1])
  if deleted == 1 and count == 1 then
    raise_generation(ARGV[3], now)
    -- Without the right to the channel it is counted down all the same, unannounced.
    redis.pcall('PUBLISH', ARGV[2], '0')
  end
  return deleted
end)
