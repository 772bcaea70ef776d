-- What the scripts of read/write locks share: it stands before them in one text.

-- The mode of a lock, and how often this holder reads and writes it; false for what is not there. The
-- error of a command comes first, if there is one.
local function look(key, holder)
  local found = redis.pcall('HMGET', key, 'mode', holder, holder .. ':write')
  if found.err then return found end
  return nil, found[1], found[2], found[3]
end

-- What an error comes to, for the answer.
local function failure(failed)
  if string.find(failed.err, 'WRONGTYPE', 1, true) then return -2, 0 end
  return failed
end
