-- How it is announced that a lock is free, or read from now on: it stands before the scripts that do so
-- in one text.

-- Returns how many listen, or -1 if the user may not announce it. A 1 wakes all, but of a Redisson process
-- those alone whose threads sleep already: one that was refused a moment ago would then sleep for the
-- ttl that it saw. A 0 is kept until the next one sleeps.
local function announce(channel, message)
  local listeners = redis.pcall('PUBLISH', channel, message)
  if type(listeners) == 'table' then return -1 end
  if message == '1' then redis.pcall('PUBLISH', channel, '0') end
  return listeners
end
