-- Tells a waiter how far a latch is. Changes nothing. Behind count.lua and generation.lua.
--
--   KEYS[1]      name of the latch
--   ARGV[1]      where its generation stands (not a key: a user without the right to it may wait all the same)
--
-- Returns TIME in µs, then the generation, which is 0 if none is known, then
--   nothing more    it is not set
--   the number, as text
-- A key of another type, or no number, is an error of the call (WRONGTYPE).

local time = redis.call('TIME')
local count, text = count_at(KEYS[1])
if count == false then return redis.error_reply('WRONGTYPE The key holds no count') end
if type(text) == 'table' then return text end
return { time[1] * 1000000 + time[2], generation_at(ARGV[1]) or 0, text }
