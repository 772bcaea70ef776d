-- How a writer keeps new readers out: it stands before the acquire in one text.

-- How long a wish lasts, and when it is to be renewed.
local WISH_MS, AGAIN_MS = 1000, 500

-- Tells new readers to wait, unless another writer has: one wish is enough. One of the holder's own is
-- withdrawn with it; one of a process ends by itself, since others of it may wish the same.
local function tell(wish, holder, wisher, ttl)
  local stands = redis.pcall('GET', wish)
  -- Without the right to it, or memory for it, it waits like any other.
  local is_ours = not stands or stands == wisher
  if not is_ours or redis.pcall('SET', wish, wisher, 'PX', WISH_MS).err then return 0, ttl end
  return wisher == holder and -6 or 0, ttl < 0 and AGAIN_MS or math.min(ttl, AGAIN_MS)
end
