-- How it is announced that there are permits: it stands before the scripts that do so in one text.

-- Returns how many listen, or -1 if it was not announced: since there are none to be had, on which
-- Redisson's listeners fail, or since the user may not.
local function announce(channel, permits)
  if permits <= 0 then return -1 end
  local listeners = redis.pcall('PUBLISH', channel, permits)
  if type(listeners) == 'table' then return -1 end
  return listeners
end
