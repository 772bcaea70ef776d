-- What count.lua could not simply release: this stands behind it, look.lua, announce.lua and died.lua in one
-- text.

-- The ttl stays that of those who are left: nobody here knows how much of it is theirs.
local function release(key, timer, wish, holder, writes, channel)
  redis.call('HDEL', key, holder, holder .. ':write')
  redis.call('DEL', timer)
  if redis.call('HLEN', key) <= 1 or not writes and all_died(key, wish) then
    redis.call('DEL', key)
    return 1, announce(channel, writes and '1' or '0')
  end
  if not writes then return 1, -1 end
  redis.call('HSET', key, 'mode', 'read')
  return 1, announce(channel, '1')
end

local function write(key, timer, wish, holder, count, channel)
  local failed, _, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  if not reads and not writes then
    if count == 0 and redis.pcall('GET', wish) == holder then
      redis.call('DEL', wish)
      -- Redisson knows of no wishes.
      redis.pcall('PUBLISH', channel, '1')
    end
    return 0, redis.call('PTTL', key) == -2 and 0 or 1
  end
  if count == 0 then return release(key, timer, wish, holder, writes, channel) end
  redis.call('HSET', key, writes and holder .. ':write' or holder, count)
  return 1, 0
end

time = time or redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 3 do
  local code, value = write(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i],
    ARGV[3 * i - 2], tonumber(ARGV[3 * i - 1]), ARGV[3 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
