-- What count.lua could not simply give back: this stands behind it, count.lua of counters, announce.lua,
-- withdraw.lua and foreign.lua in one text.

local function give_back(key, holders, wish, holder, is_forgotten, channel)
  local left, failed = count_at(key)
  if left == nil and failed then return failed end
  if left == false then return -2, 0 end
  local permits = redis.pcall('HGET', holders, holder)
  if type(permits) == 'table' then return foreign_or(permits) end
  if not permits then
    withdraw(wish, holder, channel, left or 0)
    return 0, 0
  end
  -- First: on a server that is out of memory a script that has written may write more.
  redis.call('HDEL', holders, holder)
  if left == nil then return 0, 0 end
  if is_forgotten then return 1, -1 end
  local sum = redis.pcall('INCRBY', key, permits)
  if type(sum) ~= 'table' then return 1, announce(channel, sum) end
  redis.pcall('HSET', holders, holder, permits)
  return sum
end

time = time or redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 3 do
  local code, value = give_back(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i],
    ARGV[3 * i - 2], ARGV[3 * i - 1] == '-1', ARGV[3 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
