-- Tells the counter of a lock, and whether the lock is held. Changes nothing.
--
--   KEYS[1]      name of the lock
--   KEYS[2]      its counter
--
-- Returns TIME in µs, then
--   counter      0 if there is none, -3 if the key holds no counter
--   held         1 if the lock is held, by whatever holder; else 0
-- A key of another type, or a hash that is no lock, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local foreign, failed = is_foreign(KEYS[1])
if failed then return failed end
if foreign then return redis.error_reply('WRONGTYPE The hash is not a lock') end
local counter, unread = read(KEYS[2], HIGHEST)
if unread then return unread end
local held = redis.call('PTTL', KEYS[1]) == -2 and 0 or 1
return { time[1] * 1000000 + time[2], counter or -3, held }
