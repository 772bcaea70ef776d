-- What acquires for reading and for writing share: it stands before them in one text.

-- Gives the lock at least the lease; a ttl of -2 says that it was just written. Returns the error of a
-- command, or nil and the ttl. One without a ttl keeps that: nothing of ours shortens it.
local function extend(key, ttl, lease_ms)
  if ttl == -1 then return nil, lease_ms end
  if ttl >= lease_ms then return nil, ttl end
  local expires = redis.pcall('PEXPIRE', key, lease_ms)
  if type(expires) == 'table' then return expires end
  return nil, lease_ms
end
