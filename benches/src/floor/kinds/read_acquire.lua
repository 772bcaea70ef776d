-- What one writes by hand. KEYS: name, timer; ARGV: holder, lease in ms.
if redis.call('hget', KEYS[1], 'mode') == 'write' then return 0 end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[1], 1)
redis.call('set', KEYS[2], 1, 'px', ARGV[2])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1
