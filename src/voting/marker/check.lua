-- Stands before an acquire in one text, and lets it go on only if the mark is the one by which the
-- client asks: data that was lost or replaced shows another, or none.
--
--   the last of KEYS   the mark
--   the last of ARGV   its text as the client knows it
-- Both are taken away: what follows finds its own.
--
-- Returns, if the acquire is not to go on, TIME in µs, then three integers:
--   -4, 0, 0   another mark stands there, none, or something else; nothing was changed

do
  local keys, args = #KEYS, #ARGV
  local text = redis.pcall('GET', KEYS[keys])
  if text ~= ARGV[args] then
    if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE', 1, true) then
      return text
    end
    local time = redis.call('TIME')
    return { time[1] * 1000000 + time[2], -4, 0, 0 }
  end
  KEYS[keys], ARGV[args] = nil, nil
end
