-- Stands before an acquire in one text, and lets it go on only if the mark is the one by which the
-- client asks: data that was lost or replaced shows another, or none.
--
--   the last of KEYS   the mark, unless it is on another server
--   the last of ARGV   its text as the client knows it; behind a ! where a replica may have been promoted
--                      under a socket that lived on: then the data must be of the history that the mark
--                      names, if the server has ever taken in another; behind an @ this alone is looked
--                      at, and there is no key
-- Both are taken away: what follows finds its own.
--
-- Returns, if the acquire is not to go on, TIME in µs, then three integers:
--   -4, 0, 0   another mark stands there, none, or something else; nothing was changed

do
  local keys, args = #KEYS, #ARGV
  local known = ARGV[args]
  local sign = string.sub(known, 1, 1)
  local with_history = sign == '!' or sign == '@'
  if with_history then known = string.sub(known, 2) end
  local text = known
  if sign ~= '@' then
    text = redis.pcall('GET', KEYS[keys])
    KEYS[keys] = nil
  end
  if with_history then
    local replid = string.match(known, '^%a+ %x+ (%x+)')
    local info = replid and redis.pcall('INFO', 'replication')
    if type(info) == 'string' and not string.find(info, 'master_replid:' .. replid, 1, true)
      and not string.find(info, 'master_replid2:00000000', 1, true) then
      text = false
    end
  end
  if text ~= known then
    if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE', 1, true) then
      return text
    end
    local time = redis.call('TIME')
    return { time[1] * 1000000 + time[2], -4, 0, 0 }
  end
  ARGV[args] = nil
end
