-- What comes of an error: it stands before other scripts in one text.

-- What the error of a command at a key comes to, for the answer.
local function foreign_or(failed)
  if string.find(failed.err, 'WRONGTYPE', 1, true) then return -2, 0 end
  return failed
end

-- The error of a command that answers with a number, or false.
local function failure_of(answer)
  return type(answer) == 'table' and answer
end
