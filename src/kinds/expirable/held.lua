-- How many permits are held: it stands before resize.lua in one text.

-- Those whose lease is over are among them: who ends them gives them back. Nil and the error of a command; false
-- if the key is of another type.
local function held_at(leases)
  local all = redis.pcall('ZRANGE', leases, 0, -1)
  if all.err then
    if string.find(all.err, 'WRONGTYPE', 1, true) then return false end
    return nil, all
  end
  return #all
end
