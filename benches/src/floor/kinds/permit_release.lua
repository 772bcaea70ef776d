-- What one writes by hand. KEYS: name, nothing; ARGV: holder, channel.
redis.call('publish', ARGV[2], redis.call('incrby', KEYS[1], 1))
return 1
