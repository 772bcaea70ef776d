-- What makes a change happen at most once, however often it is sent: it stands before the scripts that
-- change something in one text, and `once` is the last thing that they call.
--
--   KEYS[2]      what is kept of this change: its answer, for a minute past the first stamp
--   ARGV[1]      not-after stamp, µs of this server's clock: a later execution changes nothing
--
-- Returns TIME in µs, then a code and 0: the code that is kept, if it was executed before, or
--   -1, 0        stale: the stamp is over; nothing was changed

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = redis.call('GET', KEYS[2])
if kept then return { now, tonumber(kept), 0 } end
local left = tonumber(ARGV[1]) - now
if left < 0 then return { now, -1, 0 } end

-- Keeps the answer, then makes the change, if there is one. The error of a command, if either fails: then
-- nothing is changed, and nothing is kept.
local function once(code, change)
  local written = redis.pcall('SET', KEYS[2], code, 'PX', math.ceil(left / 1000) + 60000)
  if written.err then return written end
  local done = change and change()
  if type(done) == 'table' and done.err then
    -- Scripts do not roll back: a repetition would be told that it was done.
    redis.call('DEL', KEYS[2])
    return done
  end
  return { now, code, 0 }
end
