-- What tells counts from other people's keys: it stands before the scripts that ask in one text.

-- The number at the key, and its text; nil if there is no key, and false if it holds anything else. If the
-- user may not ask: nil, and the error in the place of the text.
local function count_at(key)
  local text = redis.pcall('GET', key)
  if not text then return nil end
  if type(text) == 'table' then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return false end
    return nil, text
  end
  -- As Redis writes integers, and none that it could not count on with.
  local is_count = #text <= 18 and (text == '0' or string.find(text, '^%-?[1-9]%d*$'))
  return is_count and tonumber(text) or false, text
end
