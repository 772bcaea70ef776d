-- What one writes by hand. KEYS: name, timer of nobody; ARGV: holder, channel.
if redis.call('hdel', KEYS[1], ARGV[1] .. ':write') == 0 then return 0 end
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call('publish', ARGV[2], '0')
end
return 1
