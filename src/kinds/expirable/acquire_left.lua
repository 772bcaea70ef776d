-- What acquire.lua could not simply grant: this stands behind it, count.lua, announce.lua, foreign.lua,
-- ours.lua, wish.lua and leases.lua in one text.

-- Gives back at most so many whose leases are over. Answers as give_back.
local function sweep(key, leases, left, most)
  -- Of ours some that stand skew_ms longer are over, among others that are not: not all of those are looked at.
  local range = { 'WITHSCORES', 'LIMIT', 0, most + 1000 }
  local found = redis.pcall('ZRANGEBYSCORE', leases, '-inf', now_ms + skew_ms, unpack(range))
  if found.err then return found end
  local over = {}
  for i = 1, #found, 2 do
    if #over < most and over_at(found[i], tonumber(found[i + 1]), skew_ms) <= now_ms then
      over[#over + 1] = found[i]
    end
  end
  if #over == 0 then return nil, 0, left end
  return give_back(key, leases, over)
end

-- In how many ms the next lease may be ended; -1 if there is none.
local function next_end(leases)
  local first = redis.pcall('ZRANGE', leases, 0, 15, 'WITHSCORES')
  local next = never
  for i = 1, first.err and 0 or #first, 2 do
    local at = tonumber(first[i + 1])
    if at < never then next = math.min(next, over_at(first[i], at, skew_ms)) end
  end
  return next < never and math.max(1, next - now_ms + 1) or -1
end

-- Takes permits, of which there are enough. Returns the error of a command.
local function take(key, leases, permits)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  local failed = extend(leases, permits, {}, until_ms)
  -- As Redisson has it: leases live as long as the semaphore.
  if not failed and ttl > 0 then failed = failure_of(redis.pcall('PEXPIRE', leases, ttl)) end
  if not failed then failed = failure_of(redis.pcall('DECRBY', key, #permits)) end
  if not failed then return end
  for _, id in ipairs(permits) do redis.pcall('ZREM', leases, id) end
  return failed
end

local function acquire(key, leases, wish, ids, channel, may_wish)
  local permits = each(ids)
  local holder = permits[1]
  local failed, mine, ends = find(leases, permits)
  if failed then return foreign_or(failed) end
  local left, no_right = count_at(key)
  if left == nil and no_right then return no_right end
  if left == false then return -2, 0 end
  if not in_time then return -1, 0 end
  -- Before a look at what is left: who is told *refused* does not give back what it has.
  if #mine == #permits then
    failed = extend(leases, mine, ends, until_ms)
    if failed then return failed end
    return 1, lease_ms
  end
  if not left then return 0, -1 end
  local others_first = #mine == 0 and kept_out(wish, holder)
  if others_first then return 0, others_first end
  local ended, gained = 0, 0
  -- Somebody has ended the others: these are taken anew with them.
  if #mine > 0 then failed, ended, left = give_back(key, leases, mine) end
  if not failed and left < #permits then
    failed, gained, left = sweep(key, leases, left, #permits - left)
  end
  if failed then return failed end
  local is_enough = left >= #permits
  failed = is_enough and take(key, leases, permits)
  if failed then return failed end
  if is_enough then left = left - #permits end
  if ended + gained > 0 then announce(channel, left) end
  if is_enough then
    fulfil(wish, holder)
    return 1, lease_ms
  end
  local function are_enough()
    local missing = #permits - left
    return #redis.pcall('ZRANGE', leases, 0, missing - 1) == missing
  end
  return refuse(wish, holder, may_wish, are_enough, next_end(leases))
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 3 do
  local code, value = 1, lease_ms
  if left[i] then
    code, value = acquire(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i],
      ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3] == '1')
  end
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
