-- What one writes by hand. KEYS: name, queue; ARGV: holder, channel.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('del', KEYS[1])
local head = redis.call('lindex', KEYS[2], 0)
if head then redis.call('publish', ARGV[2] .. ':' .. head, '0') end
return 1
