-- What a plain and a fenced acquire share: it stands before them in one text.

-- What stands in the way of a grant: a code and a value for the answer, or the error of a command.
-- If nothing does: nil, the key's PTTL, and 1 if it is held by this holder already.
local function in_the_way(key, holder, in_time)
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl.
  local ttl, mine = redis.pcall('PTTL', key), 0
  if type(ttl) == 'table' then return ttl end
  if ttl ~= -2 then
    mine = redis.pcall('HEXISTS', key, holder)
    if type(mine) == 'table' then
      if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
      return mine
    end
  end
  if not in_time then return -1, 0 end
  if mine == 0 and ttl ~= -2 then
    -- Whoever may not ask that takes it for a lock.
    if is_foreign(key) then return -2, 0 end
    if redis.pcall('HEXISTS', key, 'mode') == 1 then return -5, 0 end
    return 0, ttl
  end
  return nil, ttl, mine
end

-- Writes the lock. Returns 1 and its ttl, or the error of a command.
local function grant(key, holder, lease_ms, ttl)
  local written = redis.pcall('HSET', key, holder, '1')
  if type(written) == 'table' then return written end
  -- The ttl of a live hold is never shortened. (PEXPIRE … GT would need Redis 7.)
  if ttl >= lease_ms then return 1, ttl end
  local expires = redis.pcall('PEXPIRE', key, lease_ms)
  if type(expires) == 'table' then
    -- Scripts do not roll back: without this the lock would stand for ever. One without a ttl was
    -- written by this very call. Some users may only use hashes, so the field goes first, and the
    -- key with it.
    if ttl < 0 and type(redis.pcall('HDEL', key, holder)) == 'table' then
      redis.pcall('DEL', key)
    end
    return expires
  end
  return 1, lease_ms
end

-- Acquires or confirms a lock: a code and a value for the answer, or the error of a command.
local function acquire(key, holder, lease_ms, in_time)
  local code, ttl = in_the_way(key, holder, in_time)
  if code then return code, ttl end
  return grant(key, holder, lease_ms, ttl)
end
