-- What acquire.lua could not simply grant: this stands behind it, count.lua, foreign.lua and wish.lua in one
-- text.

local good_ms = tonumber(ARGV[1])

-- Writes who holds them, for as long as the semaphore lives. Returns the error of a command.
local function note(key, holders, holder, permits)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  local noted = redis.pcall('HSET', holders, holder, permits)
  if type(noted) == 'table' then return noted end
  -- Redisson takes the ttl of a semaphore away when it adds permits.
  local lives = ttl > 0 and redis.pcall('PEXPIRE', holders, ttl) or redis.pcall('PERSIST', holders)
  if type(lives) == 'table' then return lives end
end

-- How many permits there are in all, as far as that is known: those of Redisson's are not.
local function total(holders, left)
  local held = redis.pcall('HGETALL', holders)
  for i = 2, #held, 2 do left = left + (tonumber(held[i]) or 0) end
  return left
end

local function acquire(key, holders, wish, holder, permits, may_wish)
  local mine = redis.pcall('HGET', holders, holder)
  if type(mine) == 'table' then return foreign_or(mine) end
  local left, failed = count_at(key)
  if left == nil and failed then return failed end
  if left == false then return -2, 0 end
  if not in_time then return -1, 0 end
  -- Before a look at what is left: who is told *refused* does not give back what it has.
  if mine then return 1, good_ms end
  if not left then return 0, -1 end
  local others_first = kept_out(wish, holder)
  if others_first then return 0, others_first end
  if left < permits then
    return refuse(wish, holder, may_wish, function() return total(holders, left) >= permits end, -1)
  end
  failed = note(key, holders, holder, permits)
  if not failed then
    local taken = redis.pcall('DECRBY', key, permits)
    if type(taken) ~= 'table' then
      fulfil(wish, holder)
      return 1, good_ms
    end
    failed = taken
  end
  redis.pcall('HDEL', holders, holder)
  return failed
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 3 do
  local code, value = 1, good_ms
  if left[i] then
    code, value = acquire(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i],
      ARGV[3 * i], tonumber(ARGV[3 * i + 1]), ARGV[3 * i + 2] == '1')
  end
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
