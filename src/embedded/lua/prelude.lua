-- Builds what scripts see. Gets the host's functions; returns the environment of scripts, the
-- table behind it, and the function that runs a script.
local host = ...

local function guard(hidden)
  return setmetatable({}, { __index = hidden, __newindex = host.readonly, __metatable = false })
end

-- A generator of our own: the C library's is shared by all servers of a process, so a test would
-- not repeat. Park and Miller's, exact in doubles.
local seed = 1
local function random(low, high)
  seed = seed * 16807 % 2147483647
  local fraction = seed / 2147483647
  if low == nil then
    return fraction
  end
  if high == nil then
    low, high = 1, low
  end
  if low > high then
    error("bad argument to 'random' (interval is empty)", 2)
  end
  return math.floor(fraction * (high - low + 1)) + low
end

local function copy(from, changes)
  local to = {}
  for name, value in pairs(from) do
    to[name] = value
  end
  for name, value in pairs(changes) do
    to[name] = value
  end
  return to
end

-- As in Redis 7, an error caught by pcall is seen as its text.
local function settle(ok, first, ...)
  if ok then
    return true, first, ...
  end
  return false, host.caught(first)
end

local guarded = {}

local visible = {
  _VERSION = _VERSION, assert = assert, error = error, getmetatable = getmetatable,
  ipairs = ipairs, next = next, pairs = pairs, rawequal = rawequal, rawget = rawget,
  select = select, setmetatable = setmetatable, tonumber = tonumber, tostring = tostring,
  type = type, unpack = unpack,
  string = guard(string),
  table = guard(table),
  math = guard(copy(math, {
    random = random,
    randomseed = function(value) seed = value % 2147483646 + 1 end,
  })),
}

function visible.pcall(...)
  return settle(pcall(...))
end

function visible.xpcall(f, handler)
  return xpcall(f, function(raised) return handler(host.caught(raised)) end)
end

function visible.rawset(target, key, value)
  if guarded[target] then
    host.refuse()
  end
  return rawset(target, key, value)
end

local function single(field, make)
  return function(...)
    local text = ...
    if select('#', ...) ~= 1 or type(text) ~= 'string' then
      return { err = 'ERR wrong number or type of arguments' }
    end
    return { [field] = make(text) }
  end
end

visible.redis = guard({
  call = host.call,
  pcall = host.pcall,
  log = host.log,
  sha1hex = host.sha1hex,
  status_reply = single('ok', function(text) return text end),
  error_reply = single('err', function(text)
    text = text:gsub('^%-', '')
    if text:find(' ', 1, true) then
      return text
    end
    return 'ERR ' .. text
  end),
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REDIS_VERSION = '7.0.15', REDIS_VERSION_NUM = 0x07000f,
})

setmetatable(visible, { __index = host.missing })
local environment = guard(visible)
visible._G = environment
for _, name in ipairs({ '_G', 'string', 'table', 'math', 'redis' }) do
  guarded[visible[name]] = true
end

return environment, visible, function(script)
  return xpcall(script, host.raised)
end
