-- How a writer keeps new readers out: it stands before the acquire in one text.

-- How long a wish lasts, and when it is to be renewed.
local WISH_MS, AGAIN_MS = 1000, 500

-- Tells new readers to wait, unless another writer has: one wish is enough.
local function tell(wish, holder, ttl)
  local stands = redis.pcall('GET', wish)
  -- Without the right to it, or memory for it, it waits like any other.
  local is_ours = not stands or stands == holder
  if not is_ours or redis.pcall('SET', wish, holder, 'PX', WISH_MS).err then return 0, ttl end
  return -6, ttl < 0 and AGAIN_MS or math.min(ttl, AGAIN_MS)
end
