-- What count.lua could not simply give back: this stands behind it, count.lua of counters, announce.lua,
-- withdraw.lua, foreign.lua and leases.lua in one text.

local function release(key, leases, wish, ids, channel)
  local permits = each(ids)
  local left, failed = count_at(key)
  if left == nil and failed then return failed end
  if left == false then return -2, 0 end
  if left == nil then
    for _, id in ipairs(permits) do redis.pcall('ZREM', leases, id) end
    return 0, 0
  end
  local ended
  failed, ended, left = give_back(key, leases, permits)
  if failed then return foreign_or(failed) end
  local listeners = ended > 0 and announce(channel, left)
  if ended == 0 then withdraw(wish, permits[1], channel, left) end
  if ended < #permits then return 0, 0 end
  return 1, listeners
end

time = time or redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 3 do
  local code, value = release(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[2 * i - 1], ARGV[2 * i])
  if type(code) == 'table' then return code end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
