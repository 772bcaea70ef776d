//! A promote that asks for nothing, for the bug of that name.

use crate::wire::Script;

/// As `promote.lua`, but for any holder of the lock by now, and however great the counter is.
pub(super) static BLIND_PROMOTE: Script =
    Script::new("blind promote", SOURCE, 3, || sha1_smol::Sha1::from(SOURCE).digest().to_string())
        .telling_token();

const SOURCE: &str = "
local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS / 2 do
  redis.call('SET', KEYS[2 * i], ARGV[3 * i - 1])
  reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = 1, 0, tonumber(ARGV[3 * i - 1])
end
return reply
";
