-- What tells the zeroes of a latch apart: it stands before the scripts that know them in one text.

-- Its last zero in µs: 0 if none is known here. False if that may not be read, or anything else stands there.
local function generation_at(key)
  local text = redis.pcall('GET', key)
  if not text then return 0 end
  -- More digits would be none of a clock.
  local is_ours = type(text) == 'string' and #text <= 16 and string.find(text, '^%d+$')
  return is_ours and tonumber(text) or false
end
