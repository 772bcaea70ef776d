-- What the scripts of permits with leases share: it stands before them in one text, behind foreign.lua.

-- The end that Redisson writes for a permit without one, ms since 1970.
local never = 922337203685477

-- The permits of a holder: 16 bytes each.
local function each(ids)
  local permits = {}
  for at = 1, #ids, 16 do permits[#permits + 1] = string.sub(ids, at, at + 15) end
  return permits
end

-- Those that have a lease, and when each ends, ms since 1970. The error of a command comes first.
local function find(leases, permits)
  local found, ends = {}, {}
  for _, id in ipairs(permits) do
    local at = redis.pcall('ZSCORE', leases, id)
    if type(at) == 'table' then return at end
    if at then found[#found + 1], ends[#ends + 1] = id, tonumber(at) end
  end
  return nil, found, ends
end

-- Has permits end at a time, but none earlier than it does. Returns the error of a command.
local function extend(leases, permits, ends, at)
  for i, id in ipairs(permits) do
    local written = redis.pcall('ZADD', leases, math.max(ends[i] or at, at), id)
    if type(written) == 'table' then return written end
  end
end

-- Ends those that have a lease, and gives them back. The error of a command comes first: then nothing was
-- changed. Then how many they were, and how many permits are left.
local function give_back(key, leases, permits)
  local failed, found, ends = find(leases, permits)
  if failed then return failed end
  -- First: on a server that is out of memory a script that has written may write more.
  for _, id in ipairs(found) do
    local removed = redis.pcall('ZREM', leases, id)
    if type(removed) == 'table' then return removed end
  end
  local left = redis.pcall('INCRBY', key, #found)
  if type(left) ~= 'table' then return nil, #found, left end
  extend(leases, found, ends, 0)
  return left
end
