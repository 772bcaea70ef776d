-- Strict quarantine: stands before an acquire in one text, and lets it go on only if the marker
-- says that this server may vote. A server that lost all its keys has lost the marker too.
--
--   the last of KEYS   the marker
--   the last of ARGV   for how long the server is not to vote if there is none, ms
-- Both are taken away: what follows finds its own.
--
-- Returns, if the acquire is not to go on, TIME in µs, then three integers:
--   -4, time in ms, 0   it does not vote for so long. If there was no marker there is one now
--   -5, 0, 0            the marker's key holds something else; nothing was changed

do
  local key, wait = table.remove(KEYS), tonumber(table.remove(ARGV))
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    if string.find(text.err, 'WRONGTYPE', 1, true) then return { now, -5, 0, 0 } end
    return text
  end
  if not text then
    text = 'waits ' .. string.format('%.0f', now + wait * 1000)
    redis.call('SET', key, text)
  end
  local votes_from = tonumber(string.match(text, '^waits (%d+)$'))
  -- Lua counts in doubles, and what no integer holds would be answered as no time at all.
  if votes_from and votes_from > 9007199254740991 then votes_from = nil end
  if votes_from and votes_from > now then
    return { now, -4, math.ceil((votes_from - now) / 1000), 0 }
  end
  if not votes_from and not string.find(text, '^blessed ') then return { now, -5, 0, 0 } end
end
