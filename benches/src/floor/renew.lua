-- What one writes by hand. KEYS: names; ARGV: lease in ms, then a holder for each.
local renewed = 0
for i, key in ipairs(KEYS) do
  if redis.call('hexists', key, ARGV[i + 1]) == 1 then
    renewed = renewed + redis.call('pexpire', key, ARGV[1])
  end
end
return renewed
