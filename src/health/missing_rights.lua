-- Tells which rules its user lacks. Changes nothing.
--
--   ARGV[1]      keys to try commands with: how many, and then these
--   ARGV[..]     the same of channels
--   ARGV[..]     each command: how many words, and then these, `<key>` and `<channel>` among them
--
-- Returns letters, one for each key, then each channel, then each command: `h` has, `l` lacks, `?` is not known, since no
-- command with a key (or a channel) could be tried. Before Redis 7, which does not tell, nil.
--
-- Commands have the right number of words: Redis 7 crashes when it is asked about one that lacks its key.

if not redis.acl_check_cmd then return false end

local at = 1
local function take()
  local first, last = at + 1, at + tonumber(ARGV[at])
  at = last + 1
  return { unpack(ARGV, first, last) }
end
local keys, channels, commands = take(), take(), {}
while at <= #ARGV do commands[#commands + 1] = take() end

local function may(words, blank, with)
  local said = {}
  for i, word in ipairs(words) do said[i] = word == blank and with or word end
  -- What this server does not know is not allowed either.
  local known, allowed = pcall(redis.acl_check_cmd, unpack(said))
  return known and allowed and true
end

local function blank_of(words)
  for _, word in ipairs(words) do
    if word == '<key>' or word == '<channel>' then return word end
  end
end

-- The first command that is allowed with something tells which of the others are allowed with it.
local tries, told, allowed = { ['<key>'] = keys, ['<channel>'] = channels }, {}, {}
for i, words in ipairs(commands) do
  local blank = blank_of(words)
  told[i] = not blank and (may(words) and 'h' or 'l') or 'l'
  for _, with in ipairs(tries[blank] or {}) do
    if may(words, blank, with) then
      told[i], allowed[blank] = 'h', allowed[blank] or words
      break
    end
  end
end

local letters = {}
for _, blank in ipairs({ '<key>', '<channel>' }) do
  for _, with in ipairs(tries[blank]) do
    letters[#letters + 1] = allowed[blank] and may(allowed[blank], blank, with) and 'h' or 'l'
  end
end
for i, words in ipairs(commands) do
  local blank = blank_of(words)
  letters[#letters + 1] = blank and not allowed[blank] and '?' or told[i]
end
return table.concat(letters)
