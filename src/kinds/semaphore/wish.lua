-- How those who want few permits do not pass for ever who wants several: it stands before the acquires of both
-- kinds in one text.

-- A wish names the holder who waits. What it does depends on its age: nothing at first, since most are granted by
-- then; it keeps others out for a while; and then nobody wishes until it ends. So others have their turns where
-- permits are held for long, also those who wait for more while the wisher waits for what they hold.
local WISH_MS, QUIET_MS, KEEPS_OUT_MS = 10000, 500, 2000

-- For how many ms more the wish of another keeps this holder out; nil if it does not.
local function kept_out(wish, holder)
  local ttl = redis.pcall('PTTL', wish)
  if type(ttl) == 'table' or ttl < 0 then return end
  local left = QUIET_MS + KEEPS_OUT_MS - (WISH_MS - ttl)
  if left <= 0 or left > KEEPS_OUT_MS then return end
  local wisher = redis.pcall('GET', wish)
  -- Whoever may not look at wishes is not kept out by them.
  if type(wisher) == 'string' and wisher ~= holder then return left end
end

-- The answer to who is refused, and wishes if it may, nobody else does, and there are as many permits at all.
local function refuse(wish, holder, may_wish, are_enough, ms)
  local wisher = not may_wish or redis.pcall('GET', wish)
  if wisher == holder then return -6, ms end
  -- Without the right to it, or memory for it, it waits like any other.
  if wisher or not are_enough() or redis.pcall('SET', wish, holder, 'PX', WISH_MS).err then
    return 0, ms
  end
  return -6, ms
end

-- Who has what it wished for wishes no more.
local function fulfil(wish, holder)
  if redis.pcall('GET', wish) == holder then redis.pcall('DEL', wish) end
end
