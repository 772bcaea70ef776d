-- Replaces the mark, if it is what the caller has seen: two who write at once must not mix.
--
--   KEYS[1]      the mark
--   ARGV[1]      the text that is expected; empty if there is none
--   ARGV[2]      the text to be; empty if there is to be none
--   ARGV[3]      for how long the server is not to vote, ms: then the time at which that ends, in µs
--                of its clock, is added to the text; 0 adds nothing
--
-- Returns TIME in µs, then two integers:
--    1, that time   done, or done before; 0 if none was added
--    0, 0           another text stands there: nothing was changed
--   -2, 0           the key is of another type; it was not touched

local function write(key, before, after, wait, now)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return text
  end
  text = text or ''
  if text == after then return 1, 0 end
  if text ~= before then return 0, 0 end
  if after == '' then
    redis.call('DEL', key)
    return 1, 0
  end
  local ends = 0
  if wait > 0 then
    ends = now + wait * 1000
    after = after .. ' ' .. string.format('%.0f', ends)
  end
  redis.call('SET', key, after)
  return 1, ends
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local code, value = write(KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), now)
if type(code) == 'table' then return code end
return { now, code, value }
