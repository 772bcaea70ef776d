-- How many permits are held: it stands before resize.lua in one text.

-- As far as that is known: those of Redisson's are not. Nil and the error of a command; false if the key is of
-- another type.
local function held_at(holders)
  local of_all, sum = redis.pcall('HGETALL', holders), 0
  if of_all.err then
    if string.find(of_all.err, 'WRONGTYPE', 1, true) then return false end
    return nil, of_all
  end
  for i = 2, #of_all, 2 do sum = sum + (tonumber(of_all[i]) or 0) end
  return sum
end
