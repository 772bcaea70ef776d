-- What acquire.lua could not simply grant: this stands behind it in one text.

-- The longest that a waiter sleeps without a look, ms.
local LOOK_MS = 2000

local lease_ms = tonumber(lease)

local function failure(failed)
  if string.find(failed.err, 'WRONGTYPE', 1, true) then return -2, 0 end
  return failed
end

local function try(key, queue, deadlines, note, holder, waits, channel)
  local code, ttl, mine = in_the_way(key, holder, in_time)
  if mine == 1 then return grant(key, holder, lease_ms, ttl) end
  if code and code ~= 0 then return code, ttl end
  local head, wait
  local free_at = now_ms + math.max(ttl, 0)
  if code then
    head = first(queue, deadlines, channel, now_ms, free_at, holder)
  else
    head, wait = next_one(queue, deadlines, note, holder, channel)
  end
  if type(head) == 'table' then return failure(head) end
  if not code and not wait then
    code, ttl = grant(key, holder, lease_ms, ttl)
    local failed = code == 1 and head and move_up(queue, deadlines, note, holder, now_ms + lease_ms)
    if not failed then return code, ttl end
    -- Whoever stands first although it was served keeps all others waiting.
    redis.pcall('DEL', key)
    return failed
  end
  if waits ~= '1' then return 0, wait or ttl end
  local is_new = stand(queue, deadlines, holder, head, free_at)
  if type(is_new) == 'table' then return failure(is_new) end
  ttl = wait or ttl
  return is_new and -7 or -6, ttl < 0 and LOOK_MS or math.min(ttl, LOOK_MS)
end

local reply = { now }
for i = 1, #keys / 4 do
  local code, value = 1, lease_ms
  if left[i] then
    code, value = try(keys[4 * i - 3], keys[4 * i - 2], keys[4 * i - 1], keys[4 * i],
      args[3 * i], args[3 * i + 1], args[3 * i + 2])
  end
  if type(code) == 'table' then value = 0 end
  reply[2 * i], reply[2 * i + 1] = code, value
end
return reply
