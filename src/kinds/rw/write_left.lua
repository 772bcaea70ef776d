-- What write.lua could not simply grant: this stands behind it, and behind all that it uses, in one text.

local lease_ms = tonumber(ARGV[1])

local function acquire(key, wish, holder, wisher)
  local failed, mode, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl.
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  if not in_time then return -1, 0 end
  if mode == 'read' and not reads and all_died(key, wish) then
    redis.call('DEL', key)
    mode, ttl = false, -2
  end
  if not reads and not writes and ttl ~= -2 then
    if mode ~= 'read' and mode ~= 'write' then return other(key) end
    if mode == 'read' and wisher then return tell(wish, holder, wisher, ttl) end
    return 0, ttl
  end
  if not reads then
    local written = redis.pcall('HSET', key, 'mode', 'write', holder .. ':write', '1')
    if type(written) == 'table' then return written end
  end
  failed, ttl = extend(key, ttl, lease_ms)
  if failed then
    -- Scripts do not roll back: without this it would stand for ever.
    if not mode then redis.pcall('DEL', key) end
    return failed
  end
  if wisher and redis.pcall('GET', wish) == wisher then redis.pcall('DEL', wish) end
  local timers = reads and not writes and timers_beside(wish)
  if not timers then return 1, ttl end
  local timed = keep_timer(timers .. holder .. ':rwlock_timeout:1', lease_ms)
  if type(timed) == 'table' then return timed end
  return 1, math.min(ttl, timed)
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 2 do
  local code, value = 1, lease_ms
  if left[i] then
    local holder, wisher = ARGV[2 * i + 1], ARGV[2 * i + 2]
    if wisher == '0' then wisher = nil elseif wisher == '1' then wisher = holder end
    code, value = acquire(KEYS[2 * i - 1], KEYS[2 * i], holder, wisher)
  end
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1 and value == lease_ms
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
