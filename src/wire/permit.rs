//! What permits with a lease are known by: 16 bytes, as Redisson's are, that tell which process has
//! them.

use uuid::Uuid;

/// Of what was never used before, a process' uuid and a number: as good as unique, with the mark of ours and how much
/// longer its end is written than it is held. Every one of ours then ends it in time, by the server's clock. Of
/// Redisson's ids, which are random, one in 2^48 has that mark. A skew of more than a minute has no room: such an id is
/// as one of Redisson's.
pub(crate) fn marked(fresh: u128, skew_ms: i64) -> u128 {
    let Ok(skew) = u16::try_from(skew_ms) else { return fresh };
    let upper = (fresh ^ (fresh << 64)) & (u128::MAX << 64);
    upper | (MARK << 16) | u128::from(skew)
}

/// Another one of those that were acquired together: no two of a process are the same, since its holders differ below
/// these digits.
pub(crate) fn beside(first: u128, i: u32) -> u128 {
    first ^ (u128::from(i) << (64 + NUMBERS))
}

/// Of 32 hexadecimal digits.
pub(crate) fn parse(id: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    hex::decode_to_slice(id, &mut bytes).ok()?;
    Some(u128::from_be_bytes(bytes))
}

/// Whether a process made it. Of those of another it is said of one in a billion.
pub(crate) fn is_of(id: u128, process: Uuid) -> bool {
    let process = process.as_u128();
    let is_marked = (id >> 16) & ((1 << 48) - 1) == MARK;
    let number = ((id ^ process) >> 64).wrapping_sub(process) & ((1 << NUMBERS) - 1);
    is_marked && number < MOST
}

/// In ours.lua, too: `plsade`.
const MARK: u128 = 0x706c_7361_6465;
/// So many bits of the upper half tell holders of a process apart, and the rest their permits.
const NUMBERS: u32 = 54;
/// For a process that has made more, it is not told any more.
const MOST: u128 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_tell_which_process_made_them() {
        let uuids =
            [0x1234_5678_9abc_8def_8123_4567_89ab_ffff, 0xf00d_0000_0000_8000_8fff_ffff_ffff_0000];
        let [ours, other] = uuids.map(Uuid::from_u128);
        for number in [1, 2, 255, 65_536, MOST - 1] {
            let first = marked(ours.as_u128() + number, 5_000);
            for permit in [0, 1, 1_023].map(|i| beside(first, i)) {
                assert!(is_of(permit, ours), "{number} {permit:x}");
                assert!(!is_of(permit, other), "{number} {permit:x}");
            }
        }
        assert!(!is_of(marked(ours.as_u128() + MOST, 5_000), ours));
        assert!(!is_of(ours.as_u128() + 1, ours), "not marked");
    }
}
