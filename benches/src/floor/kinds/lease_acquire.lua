-- What one writes by hand. KEYS: name, ends of leases; ARGV: holder, lease in ms.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = redis.call('zrangebyscore', KEYS[2], 0, now)
if #ended > 0 then
  redis.call('zrem', KEYS[2], unpack(ended))
  redis.call('incrby', KEYS[1], #ended)
end
local left = redis.call('get', KEYS[1])
if not left or tonumber(left) < 1 then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
redis.call('decrby', KEYS[1], 1)
return 1
