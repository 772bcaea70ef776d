-- What acquire.lua could not simply grant: this stands behind it in one text.

local lease_ms = tonumber(lease)
local reply = { now }
for i, key in ipairs(keys) do
  local code, value = 1, lease_ms
  if left[i] then code, value = acquire(key, args[i + 2], lease_ms, in_time) end
  if type(code) == 'table' then value = 0 end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
