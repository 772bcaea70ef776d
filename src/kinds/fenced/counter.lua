-- What the fenced scripts share of the counter: it stands before them in one text.

-- Lua counts in doubles: from here on it would skip numbers.
local HIGHEST = 9007199254740991

-- Tokens are about the time of day, in µs. A counter that is farther ahead of it got there by accident: were
-- it told to other servers it would run out everywhere, and all tokens after that would be lesser ones.
local AHEAD = 86400000000

-- The counter; 0 if there is none. nil if the key holds no counter, or one beyond `most`, then with the error
-- unless that is the key's type.
local function read(counter, most)
  local text = redis.pcall('GET', counter)
  if type(text) == 'table' then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return nil end
    return nil, text
  end
  if not text then return 0 end
  local number = string.find(text, '^%d+$') and tonumber(text)
  if number and number <= math.min(HIGHEST, most) then return number end
  return nil
end

-- Writes the counter, with a ttl in ms or, for 0, without: one that somebody gave it is gone then.
-- Returns the error of a command, if there is one.
local function write(counter, number, keep)
  -- tostring would round it to 14 digits.
  local text = string.format('%.0f', number)
  local done
  if keep > 0 then
    done = redis.pcall('SET', counter, text, 'PX', keep)
  else
    done = redis.pcall('SET', counter, text)
  end
  if done.err then return done end
end
