-- What makes a change happen at most once, however often it is sent: it stands before the scripts that
-- change something in one text, and `once` is the last thing that they call.
--
--   KEYS[2]      what is kept of this change: its answer, for a minute past the first stamp
--   ARGV[1]      not-after stamp, µs of this server's clock: a later execution changes nothing
--
-- Returns TIME in µs, then a code and a value: those that are kept, if it was executed before, or
--   -1, 0        stale: the stamp is over; nothing was changed

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = redis.call('GET', KEYS[2])
if kept then
  local code, value = string.match(kept, '(%S+) (%S+)')
  return { now, tonumber(code), tonumber(value) }
end
local left = tonumber(ARGV[1]) - now
if left < 0 then return { now, -1, 0 } end

-- Keeps the answer, then makes the change, if there is one. The error of a command, if either fails: then
-- nothing is changed, and nothing is kept. The value is 0, if there is none, or as text.
local function once(code, change, value)
  value = value or 0
  local life_ms = math.ceil(left / 1000) + 60000
  local written = redis.pcall('SET', KEYS[2], code .. ' ' .. value, 'PX', life_ms)
  if written.err then return written end
  local done = change and change()
  if type(done) == 'table' and done.err then
    -- Scripts do not roll back: a repetition would be told that it was done.
    redis.call('DEL', KEYS[2])
    return done
  end
  return { now, code, tonumber(value) }
end
