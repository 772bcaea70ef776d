-- Tells all that wait for a latch that it has been at zero: it stands behind generation.lua, and before the scripts
-- that bring it there, in one text.

-- Whatever comes of it: earlier versions printed no right to this key, and their users count down all the same. It
-- ends long after the last waiter has looked: each does so every few seconds.
local function raise_generation(key, now)
  local before = generation_at(key)
  if not before then return end
  -- It rises though the clock is set back.
  local generation = string.format('%.0f', math.max(before + 1, now))
  redis.pcall('SET', key, generation, 'PX', 600000)
end
