-- How long a reader holds a lock, which others may hold for longer: it stands before the scripts that set that in
-- one text.

-- Gives a timer at least the lease. Returns how long it runs now, ms, or the error of a command. One without an
-- end keeps that: nothing of ours shortens it.
local function keep_timer(timer, lease_ms)
  local left = redis.pcall('PTTL', timer)
  if type(left) == 'table' then return left end
  if left == -1 then return lease_ms end
  if left >= lease_ms then return left end
  local set
  if left >= 0 then
    set = redis.pcall('PEXPIRE', timer, lease_ms)
  else
    set = redis.pcall('SET', timer, '1', 'PX', lease_ms)
  end
  if type(set) == 'table' and set.err then return set end
  return lease_ms
end
