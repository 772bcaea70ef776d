-- How a wish for permits is withdrawn: it stands behind announce.lua, before the scripts that do so, in one text.

-- Ends the wish of a holder, if there is one, and tells those whom it kept out.
local function withdraw(wish, holder, channel, left)
  if redis.pcall('GET', wish) ~= holder then return end
  redis.call('DEL', wish)
  announce(channel, left)
end
