-- What one writes by hand. KEYS: name, timer; ARGV: holder, channel.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('del', KEYS[2])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call('publish', ARGV[2], '0')
end
return 1
