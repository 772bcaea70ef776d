//! What is known of proofs: so far, which bugs can be planted.

#[allow(dead_code, reason = "nothing shows yet what a bug does and breaks")]
pub(crate) mod bugs;
