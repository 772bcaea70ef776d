//! Texts of scripts that are not the library's: what others send, and what a script can try.

/// What a Java service sends for the same lock.
pub(super) const REDISSON_ACQUIRE: &str = "
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

pub(super) const REDISSON_RELEASE: &str = "
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {0, redis.call('pttl', KEYS[1])}
end
redis.call('del', KEYS[1])
redis.call('publish', 'channel:' .. KEYS[1], 0)
return {1, redis.call('pttl', KEYS[1])}";

pub(super) const QUEUE: &str = "
redis.call('rpush', KEYS[1], ARGV[1])
while true do
  local first = redis.call('lindex', KEYS[1], 0)
  if first == false or redis.call('llen', KEYS[1]) < 3 then break end
  redis.call('lpop', KEYS[1])
end
return redis.call('lrange', KEYS[1], 0, -1)";

pub(super) const CAUGHT: &str = "
local ok, value = pcall(redis.call, unpack(ARGV))
if ok then return {1, value} end
return {0, type(value), value}";

pub(super) const TYPES: &str = "
local value = redis.pcall(unpack(ARGV))
if type(value) ~= 'table' then return type(value) end
return {type(value), value.ok or '', value.err or '', #value, type(value[1])}";

pub(super) const WRITE_THEN_FAIL: &str = "
redis.call('set', KEYS[1], ARGV[1])
redis.call('incr', KEYS[1])
local missing = nil
return missing.field";

pub(super) const SELECT: &str = "
redis.call('select', 1)
redis.call('set', KEYS[1], ARGV[1])
return redis.call('get', KEYS[1])";

/// Conversions and errors, each a script of its own.
pub(super) const PLAIN: &[&str] = &[
    "return nil",
    "return true",
    "return false",
    "return 1",
    "return -3.99",
    "return 3.99",
    "return 1e100",
    "return 'text'",
    "return ''",
    "return ARGV[1]",
    "return KEYS",
    "return {KEYS, ARGV}",
    "return {}",
    "return {1, 2, nil, 4}",
    "return {1, false, true, 'x', 2.5, {3, {4, {}}}}",
    "return {ok = 'FINE'}",
    "return {ok = 'a\\r\\nb'}",
    "return {ok = 1}",
    "return {err = 'MINE it is'}",
    "return {err = 'lower'}",
    "return {err = 'two\\nlines\\r\\n'}",
    "return {1, {err = 'MINE inner'}, {ok = 'inner'}}",
    "return {double = 2.5}",
    "return {double = 0.1}",
    "return {map = {a = 1}}",
    "return {set = {a = true}}",
    "return {big_number = '123456789012345678901234567890'}",
    "return redis.error_reply('MINE it is')",
    "return redis.error_reply('ALONE')",
    "return redis.error_reply('-DASHED it is')",
    "return redis.error_reply()",
    "return redis.error_reply(1)",
    "return redis.error_reply({})",
    "return redis.status_reply('FINE')",
    "return redis.status_reply()",
    "return redis.status_reply('a', 'b')",
    "return redis.sha1hex(ARGV[1])",
    "return redis.sha1hex(12)",
    "return redis.sha1hex()",
    "return redis.sha1hex('a', 'b')",
    "return redis.log(redis.LOG_DEBUG, 'x')",
    "return redis.log(1)",
    "return redis.log('x', 'y')",
    "return redis.log(99, 'y')",
    "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
    "return redis.REDIS_VERSION .. redis.REDIS_VERSION_NUM",
    "return redis.call()",
    "return redis.pcall()",
    "return redis.call({})",
    "return redis.pcall('get', true)",
    "return redis.call('get', nil)",
    "return redis.call('set', KEYS[1], 1.5)",
    "redis.call('set', KEYS[1], 1.5) return redis.call('get', KEYS[1])",
    "redis.call('set', KEYS[1], 0.1) return redis.call('get', KEYS[1])",
    "redis.call('set', KEYS[1], 1e20) return redis.call('get', KEYS[1])",
    "redis.call('set', KEYS[1], -12345678901) return redis.call('get', KEYS[1])",
    "return redis.call('set', KEYS[1], ARGV[1], 'PX', 100000 + 1)",
    "return {redis.call('set', KEYS[1], ARGV[1]), redis.call('get', KEYS[1])}",
    "return redis.call('set', KEYS[1], ARGV[1]).ok",
    "return redis.pcall('incr', KEYS[1]).err",
    "redis.call('incr', KEYS[1])",
    "\n\nlocal a = 1\nredis.call('incr', KEYS[1])\nreturn a",
    "return undefined",
    "\nreturn undefined.field",
    "undefined = 1",
    "KEYS = 1",
    "KEYS[1] = 'changed' return KEYS[1]",
    "redis.call = nil",
    "string.rep = nil",
    "_G.x = 1",
    "return _G.x",
    "rawset(_G, 'x', 1)",
    "local t = {} rawset(t, 'x', 1) return t.x",
    "error('boom')",
    "error('boom', 0)",
    "error('boom', 2)",
    "error({err = 'MINE it is'})",
    "error()",
    "error(17)",
    "local function f() error('inside') end\nf()",
    "local function f() return redis.call('nosuch') end\nlocal x = f()\nreturn x",
    "local x = nil\nreturn x.y",
    "return 'a' + 1",
    "return {} .. 'x'",
    "return #5",
    "return nil > 1",
    "return ('x').y.z",
    "return assert(false)",
    "return assert(nil, 'why')",
    "return assert(1, 'why')",
    "return {pcall(error, 'x')}",
    "return {pcall(error, {err = 'MINE it is'})}",
    "return {pcall(error)}",
    "return {pcall(function() return 1, 2 end)}",
    "return {pcall(function() return undefined end)}",
    "return {xpcall(function() error('x', 0) end, function(e) return 'handled ' .. e end)}",
    "return {select('#', 1, 2, 3), select(2, 'a', 'b')}",
    "return {tostring(1.5), tostring(1e15), tostring(true), tostring(nil), tonumber('0x10')}",
    "return {tonumber(ARGV[1]), type(tonumber(ARGV[1]))}",
    "return tonumber('10', 2)",
    "return {type(nil), type(1), type('x'), type({}), type(print == nil)}",
    "return {string.format('%5.2f|%s|%d', 1.234, 'x', 7), ('abc'):upper(), ('abc'):len()}",
    "return {string.sub('hello', 2, 3), string.find('hello', 'l'), string.rep('ab', 3)}",
    "local t = {} for w in string.gmatch('a,b,c', '[^,]+') do t[#t + 1] = w end return t",
    "return {string.gsub('hello', 'l', 'L')}",
    "return string.gsub('hello', 'l', function() error({err = 'MINE it is'}) end)",
    "return {string.byte('a'), string.char(65, 66)}",
    "local t = {3, 1, 2} table.sort(t) return t",
    "local t = {1, 2} table.insert(t, 3) table.remove(t, 1) return {table.concat(t, '-'), #t}",
    "return {math.floor(1.7), math.max(1, 5, 3), math.min(4, 2), math.huge > 1, math.abs(-2)}",
    "local t = setmetatable({}, {__index = function(_, k) return k end}) return t[5]",
    "local t = setmetatable({}, {__index = function(_, k) return k end}) return t",
    "return {next({5}), rawequal(1, 1), rawget({7}, 1)}",
    "local s = 0 for i = 1, 100 do s = s + i end return s",
    "local r = {} for i, k in ipairs({'x', 'y'}) do r[i] = k .. i end return r",
    "return unpack({1, 2, 3})",
    "return print('x')",
    "return os.time()",
    "return io",
    "return require('x')",
    "return dofile('x')",
    "return function() end",
    "return string.rep",
    "this is no Lua",
    "return 'unfinished",
    "return redis.call('eval', 'return 1', 0)",
    "return redis.call('subscribe', 'x')",
    "return redis.call('multi')",
    "return redis.call('client', 'id')",
    "return redis.call('config', 'get', 'save')",
    "return redis.call('pubsub', 'numpat')",
    "return redis.call('pubsub', 'nosuch')",
    "return redis.call('pubsub')",
    "return redis.call('script', 'exists', 'x')",
    "return redis.call('info', 'nosuch')",
    "return type(redis.call('time')[1])",
    "return #redis.call('time')",
    "return redis.call('publish', KEYS[1], ARGV[1])",
    "return redis.call('hgetall', KEYS[1])",
    "return #redis.call('keys', '*')",
    "redis.call('zadd', KEYS[1], 1.5, 'm') return redis.call('zscore', KEYS[1], 'm')",
    "redis.call('zadd', KEYS[1], 1, 'm') return redis.call('zrange', KEYS[1], 0, -1, 'WITHSCORES')",
    "return redis.call('lpop', 'nosuch', 2)",
    "return {redis.call('lpop', 'nosuch', 2), redis.call('get', 'nosuch')}",
    "return redis.call('GET', 'nosuch') == false",
    "return redis.call('flushall')",
];
