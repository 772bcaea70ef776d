-- Announces a leader, unless it has announced something newer. It stands behind a look whether the lock is held.
--
--   KEYS[1]      where the leader of the lock is announced
--   ARGV[1]      which leader: its holder ids and its token
--   ARGV[2]      number of the announcement: greater than that of all that it announced before
--   ARGV[3]      what it announces
--   ARGV[4]      channel on which that is told
--
-- Returns 1 if it is announced now, 0 if it was before, or something newer

local standing = redis.call('GET', KEYS[1])
local leader, number = string.match(standing or '', '^(.-) (%d+)\n')
if leader == ARGV[1] and tonumber(number) >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. '\n' .. ARGV[3])
redis.call('PUBLISH', ARGV[4], ARGV[2])
return 1
