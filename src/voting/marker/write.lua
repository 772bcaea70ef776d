-- Replaces the marker, if it is what the caller has seen: two who bless at once must not mix.
--
--   KEYS[1]      the marker
--   ARGV[1]      the text that is expected; empty if there is none, or only that the server waits
--   ARGV[2]      the text to be; empty if there is to be none
--
-- Returns TIME in µs, then two integers:
--    1, 0    done, or done before
--    0, 0    another text stands there: nothing was changed
--   -2, 0    the key is of another type; it was not touched

local function write(key, before, after)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return -2, 0 end
    return text
  end
  -- One by which the server only waits is as good as none.
  if not text or string.find(text, '^waits %d+$') then text = '' end
  if text == after then return 1, 0 end
  if text ~= before then return 0, 0 end
  if after == '' then redis.call('DEL', key) else redis.call('SET', key, after) end
  return 1, 0
end

local time = redis.call('TIME')
local code, value = write(KEYS[1], ARGV[1], ARGV[2])
if type(code) == 'table' then return code end
return { time[1] * 1000000 + time[2], code, value }
