-- What one writes by hand. KEYS: name, timer of nobody; ARGV: holder, lease in ms.
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1] .. ':write', 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
