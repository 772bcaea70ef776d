-- How a writer becomes a reader: it stands before the renewal in one text.

-- Never a gap: the reader stands before the writer goes. If there is no memory for it, the writer stays
-- until it is told again.
local function downgrade(key, timer, holder, count, ttl, channel)
  local set
  if ttl < 0 then
    set = redis.pcall('SET', timer, '1')
  else
    set = redis.pcall('SET', timer, '1', 'PX', math.max(ttl, 1))
  end
  if set.err then return end
  redis.call('HSET', key, 'mode', 'read', holder, count)
  redis.call('HDEL', key, holder .. ':write')
  announce(channel, '1')
end
