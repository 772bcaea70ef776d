-- Whether those who read are still alive: it stands before the scripts that ask in one text.

-- What the names of readers' timers begin with; nil if the key of wishes is none.
local function timers_beside(wish)
  return string.match(wish, '^(.*:)palisade_writer$')
end

-- Whether all who are left are readers of ours whose timers are over: they died, or they would have renewed
-- them. Ours have uuids of version 8; Redisson's MultiLock leaves readers without timers that live. Whoever may
-- not see that takes them for alive.
local function all_died(key, wish)
  local timers = timers_beside(wish)
  local length = timers and redis.pcall('HLEN', key)
  if type(length) ~= 'number' then return false end
  local function has_died(reader)
    if not string.find(reader, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$') then return reader == 'mode' end
    -- With the lock: while a slot moves, the server may have the one and not the other, and then says so.
    return redis.pcall('EXISTS', key, timers .. reader .. ':rwlock_timeout:1') == 1
  end
  local function have_died(fields)
    if fields.err then return false end
    for i = 1, #fields, 2 do
      if not has_died(fields[i]) then return false end
    end
    return true
  end
  -- Of many, some first: hardly ever are all of those dead.
  return (length <= 64 or have_died(redis.pcall('HRANDFIELD', key, 64, 'WITHVALUES')))
    and have_died(redis.pcall('HGETALL', key))
end
