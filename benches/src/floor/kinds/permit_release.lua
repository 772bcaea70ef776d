-- What one writes by hand. KEYS: name, who holds how many; ARGV: holder, channel.
if redis.call('hdel', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('publish', ARGV[2], redis.call('incrby', KEYS[1], 1))
return 1
