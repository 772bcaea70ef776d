-- What one writes by hand. KEYS[1]: name; ARGV: holder, channel.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], '0')
return 1
