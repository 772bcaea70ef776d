//! What callgrind wrote down: functions, each with its file, and their calls with the lines.
//!
//! The format without its abbreviations (`--compress-strings=no --compress-pos=no`): a function begins with `fl=` and
//! `fn=`; a call is `cfn=`, then `calls=TIMES …`, then a line that begins with the caller's own line.

use std::collections::BTreeMap;

/// One stretch of a run.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// By its name as the linker knows it.
    pub(crate) functions: BTreeMap<String, Function>,
}

/// What was executed of one function.
#[derive(Debug, Default)]
pub(crate) struct Function {
    /// As the debug information has it; empty for what was called and has no instruction of its own.
    pub(crate) file: String,
    /// Line of the call, and what was called.
    pub(crate) calls: Vec<(u32, String)>,
}

impl Profile {
    pub(crate) fn parse(text: &str) -> Self {
        let mut profile = Self::default();
        let (mut file, mut function, mut callee) = ("", "", "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            match line.split_once('=') {
                Some(("fl", path)) => file = path,
                Some(("fn", name)) => {
                    function = name;
                    file.clone_into(&mut profile.of(name).file);
                }
                Some(("cfn", name)) => callee = name,
                Some(("calls", times)) => {
                    let at = lines.next().and_then(|line| line.split(' ').next()?.parse().ok());
                    // What was called before and has not returned is listed with no call.
                    if !times.starts_with("0 ") {
                        let call = (at.unwrap_or(0), callee.to_owned());
                        profile.of(function).calls.push(call);
                        profile.of(callee);
                    }
                }
                _ => {}
            }
        }
        for function in profile.functions.values_mut() {
            function.calls.sort();
            function.calls.dedup();
        }
        profile
    }

    fn of(&mut self, name: &str) -> &mut Function {
        self.functions.entry(name.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_their_lines() {
        let text = "version: 1\nevents: Ir\n\nob=/bin/walk\nfl=/w/src/a.rs\nfn=first\n16 400\ncob=/bin/walk\n\
                    cfi=/w/src/b.rs\ncfn=second\ncalls=3 50\n18 400\nfi=/rust/core.rs\n7 1\ncfn=third\ncalls=0 0\n\
                    9 8\n\nfl=/w/src/b.rs\nfn=second\n51 100\n";
        let profile = Profile::parse(text);
        let first = &profile.functions["first"];
        assert_eq!(first.file, "/w/src/a.rs");
        assert_eq!(first.calls, [(18, "second".to_owned())]);
        assert_eq!(profile.functions["second"].file, "/w/src/b.rs");
        assert!(!profile.functions.contains_key("third"));
    }
}
