-- For the scripts that may meet other kinds: it stands before them in one text.

-- What stands in a key that has neither mode: a lock of another kind, or no lock.
local function other(key)
  if is_foreign(key) then return -2, 0 end
  return -5, 0
end
