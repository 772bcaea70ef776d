-- What stands before the scripts that look whether a lease is over.

-- When this server may end the lease of a permit, ms since 1970: `at` is what stands there. Others end
-- leases by clocks of their own, so theirs are ended skew_ms later. Ours go by this server's clock alone: the
-- last two bytes say by how much longer they are written, for those others.
local function over_at(id, at, skew_ms)
  if string.sub(id, 9, 14) ~= 'plsade' then return at + skew_ms end
  local high, low = string.byte(id, 15, 16)
  return at - high * 256 - low
end
