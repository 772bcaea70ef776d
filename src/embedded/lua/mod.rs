//! Scripts: Lua 5.1 as Redis 7.0 offers it, without `cjson`, `cmsgpack`, `struct` and `bit`.

mod convert;
mod host;
mod machine;
mod scripts;

pub(crate) use scripts::Scripts;
