-- Records a run, unless another one is recorded that leaves no room for it. It stands behind a look whether the lock
-- is held.
--
--   KEYS[1]      where the last run is recorded
--   KEYS[2]      where that of its period is; not there of a run that has none
--   ARGV[1]      id of the run: its own record may be written again
--   ARGV[2]      for how long it has lasted, in µs
--   ARGV[3]      what is recorded behind its times
--   ARGV[4]      so long after the start of another it may begin, in µs; of a run without a period
--   ARGV[5]      for how long the record of its period is kept, in ms
--   ARGV[6]      for how long that of the last run is kept at least, in ms
--
-- Returns TIME in µs, then the record that stands: its own, or that of another run

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local start = now - tonumber(ARGV[2])
local standing = redis.call('GET', KEYS[2] or KEYS[1])
if standing and string.sub(standing, 1, #ARGV[1]) ~= ARGV[1] then
  local began = tonumber(string.match(standing, '^%S+ (%d+) '))
  if KEYS[2] or not began or start - began < tonumber(ARGV[4]) then return { now, standing } end
end
local times = string.format(' %.0f %.0f ', start, now)
local record = ARGV[1] .. times .. ARGV[3]
if KEYS[2] then redis.call('SET', KEYS[2], record, 'PX', ARGV[5]) end
-- That of a run before may have been promised to stay for longer.
local left = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[1], record, 'PX', math.max(left, tonumber(ARGV[6])))
return { now, record }
