-- What read.lua could not simply grant: this stands behind it, and behind all that it uses, in one text.

local function acquire(key, timer, wish, holder, holds)
  local failed, mode, reads, writes = look(key, holder)
  if failed then return failure(failed) end
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl.
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl end
  if not in_time then return -1, 0 end
  if not reads and not writes then
    if mode == 'write' then return 0, ttl end
    if mode ~= 'read' and ttl ~= -2 then return other(key) end
    local wished = holds and -2 or redis.pcall('PTTL', wish)
    -- Whoever may not look at wishes is not kept out by them, nor is anybody by one without an end.
    if type(wished) ~= 'table' and wished >= 0 then return 0, wished end
  end
  local timed
  if not writes then failed, timed = enter(key, timer, holder, mode, reads, lease_ms) end
  if failed then return failed end
  failed, ttl = extend(key, ttl, lease_ms)
  -- Others may hold it for longer.
  if not failed then return 1, math.min(ttl, timed or ttl) end
  if not reads and not writes then leave(key, timer, holder, mode) end
  return failed
end

local reply, is_plain = { now }, true
for i = 1, #KEYS / 3 do
  local code, value = 1, lease_ms
  if left[i] then
    code, value = acquire(
      KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[2 * i + 1], ARGV[2 * i + 2] == '1')
  end
  if type(code) == 'table' then value = 0 end
  is_plain = is_plain and code == 1 and value == lease_ms
  reply[2 * i], reply[2 * i + 1] = code, value
end
return is_plain and now or reply
