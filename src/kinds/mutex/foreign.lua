-- What tells locks from other people's hashes: it stands before the scripts that ask in one text.

-- Whether the key, a hash, is no lock. nil if the user may not ask, then with the error.
local function is_foreign(key)
  -- Whether a field is one of a lock: `<id>:<number>` with a whole number, how often; Redisson adds
  -- `:write`, or the 32 hexadecimal digits of a transaction; and `mode` with one of two words. In
  -- here, since most calls ask for nothing of this, and each would make it anew.
  local function is_of_lock(field, value)
    if field == 'mode' then return value == 'read' or value == 'write' end
    if not string.find(value, '^%-?%d+$') then return false end
    local transaction = string.match(field, '^.+:%-?%d+:(%x+)$')
    return transaction and #transaction == 32
      or string.find(field, '^.+:%-?%d+$') or string.find(field, '^.+:%-?%d+:write$')
  end

  local length = redis.pcall('HLEN', key)
  if type(length) == 'table' then return nil, length end
  local fields
  if length <= 64 then
    fields = redis.pcall('HGETALL', key)
  else
    -- Some of them, or a hash with millions would stop the server for as long.
    fields = redis.pcall('HRANDFIELD', key, 64, 'WITHVALUES')
  end
  if fields.err then return nil, fields end
  for i = 1, #fields, 2 do
    if not is_of_lock(fields[i], fields[i + 1]) then return true end
  end
  return false
end
