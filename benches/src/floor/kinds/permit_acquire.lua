-- What one writes by hand. KEYS: name, who holds how many; ARGV: holder, lease in ms.
local left = redis.call('get', KEYS[1])
if not left or tonumber(left) < 1 then return 0 end
redis.call('hset', KEYS[2], ARGV[1], 1)
redis.call('decrby', KEYS[1], 1)
return 1
