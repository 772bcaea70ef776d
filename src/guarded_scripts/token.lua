-- Whether a fencing token is the greatest that was shown with a key, which it is from then on: see wire/hold_check.rs.
--
--   KEYS, last   where the greatest token stands, as text, without a ttl
--   ARGV, last   the token
--
-- `__taken` is the greater token, as text, or -1 if the key holds none. Digits are compared and not numbers: it
-- is exact however great a number is. In every locale they are in one order.

local __token, __fence = table.remove(ARGV), table.remove(KEYS)
local __seen, __held, __taken = redis.pcall('GET', __fence), 1, nil
if type(__seen) == 'table' then
  __held, __taken = __seen, -1
elseif __seen and not (__seen == '0' or string.find(__seen, '^[1-9]%d*$')) then
  __held, __taken = 0, -1
elseif __seen and (#__seen > #__token or #__seen == #__token and __seen > __token) then
  __held, __taken = 0, __seen
elseif __seen ~= __token then
  local raised = redis.pcall('SET', __fence, __token)
  if raised.err then __held = raised end
end
