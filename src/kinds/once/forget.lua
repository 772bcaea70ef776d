-- Deletes what is kept of a change that nobody will send again.
--
--   KEYS[1]      name of what was changed: not touched, it says where the other key is
--   KEYS[2]      what is kept of the change
--
-- Returns TIME in µs.

local time = redis.call('TIME')
redis.call('DEL', KEYS[2])
return time[1] * 1000000 + time[2]
