//! The prologue that looks at a fencing token, and what it says beside a refusal.

use std::sync::Arc;

use super::{FromReply, ScriptReply, script::TOKEN};
use crate::{
    kind::FencingToken,
    wire::{Arg, HoldCheck},
};

/// Lets a script through whose token is not less than any that was shown with `key`.
pub(crate) fn token_check(token: FencingToken, key: &Arc<str>) -> HoldCheck {
    HoldCheck::new(TOKEN, [key], Arg::Int(token.as_i64()))
}

/// The greater token that was in the way; `None` if the key holds no token.
pub(crate) fn newest_of(taken: ScriptReply) -> Option<u64> {
    String::from_reply(taken).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greater_token_is_read_exactly_or_is_none() {
        let text = |text: &str| newest_of(ScriptReply::Bytes(text.as_bytes().to_vec()));
        assert_eq!(text("18446744073709551615"), Some(u64::MAX));
        assert_eq!(text("18446744073709551616"), None);
        assert_eq!(newest_of(ScriptReply::Int(-1)), None);
    }
}
