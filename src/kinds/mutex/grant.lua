-- What a plain and a fenced acquire share: it stands before them in one text.

-- What stands in the way of a grant: a code and a value for the answer, or the error of a command.
-- If nothing does: nil, the key's PTTL, and 1 if it is held by this holder already.
local function in_the_way(key, holder, not_after, now)
  -- Before the write: a user without the right to PTTL must not leave a key without a ttl. And first
  -- of all: of a lock that nobody holds, the usual case, there is nothing else to ask.
  local ttl, mine = redis.call('PTTL', key), 0
  if ttl ~= -2 then
    mine = redis.pcall('HEXISTS', key, holder)
    if type(mine) == 'table' then
      if string.find(mine.err, 'WRONGTYPE', 1, true) then return -2, 0 end
      return mine
    end
  end
  if now > not_after then return -1, 0 end
  if mine == 0 and ttl ~= -2 then
    -- Whoever may not ask that takes it for a lock.
    if is_foreign(key) then return -2, 0 end
    return 0, ttl
  end
  return nil, ttl, mine
end

-- Writes the lock. Returns 1 and its ttl, or the error of a command.
local function grant(key, holder, count, lease, ttl, mine)
  redis.call('HSET', key, holder, count)
  -- The ttl of a live hold is never shortened. (PEXPIRE … GT would need Redis 7.)
  if ttl >= lease then return 1, ttl end
  local expires = redis.pcall('PEXPIRE', key, lease)
  if type(expires) == 'table' then
    -- Scripts do not roll back: without this the lock would stand for ever. Some users may only
    -- use hashes, so the field goes first, and the key with it.
    if mine == 0 and type(redis.pcall('HDEL', key, holder)) == 'table' then
      redis.pcall('DEL', key)
    end
    return expires
  end
  return 1, lease
end
