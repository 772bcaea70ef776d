//! How a user's script and what stands before it become one text. Pure.

/// The text that is sent: the shebang, if there is one; then, on the line where the user's text begins, what looks
/// whether the hold stands; and behind the user's text what tags its answer.
///
/// The user's text is a function there: it may return from any place, and what it throws is caught. Its lines keep
/// the numbers that they have by themselves, so that messages name the right ones.
pub(super) fn compose(user: &str, prologue: &str) -> String {
    let (shebang, body) = split_shebang(user);
    let prologue = on_one_line(prologue);
    let refuse = if planted!(GuardNotLookedAt) { " " } else { REFUSE };
    [shebang, &prologue, refuse, OPEN, body, CLOSE].concat()
}

/// The first line of a script that names its engine and its flags, with its end.
fn split_shebang(text: &str) -> (&str, &str) {
    if !text.starts_with("#!") {
        return ("", text);
    }
    text.split_at(text.find('\n').map_or(text.len(), |end| end + 1))
}

/// A prologue without its comments, which stand on lines of their own.
fn on_one_line(lua: &str) -> String {
    let code =
        lua.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    code.collect::<Vec<_>>().join(" ")
}

/// A key of another type is none of ours. Any other error of a command is the whole answer: then nothing was executed.
const REFUSE: &str = " if __held ~= 1 then if type(__held) == 'table' and \
                      not string.find(__held.err, 'WRONGTYPE', 1, true) then return __held end \
                      return { 0, __taken or 0 } end ";
const OPEN: &str = "local __done, __reply = pcall(function(...) ";
/// On a line of its own: the user's text may end with a comment.
const CLOSE: &str = "\nend) if __done then return { 1, __reply } end \
                     return { 2, type(__reply) == 'table' and __reply.err or tostring(__reply) }";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_user_keep_their_numbers() {
        let prologue = "-- About it.\n\nlocal __held = 1\n-- More.\nlocal __taken = 0\n";
        for (text, line) in [
            ("return 7", 1),
            ("-- first\nreturn 7", 2),
            ("#!lua flags=no-writes\nreturn 7", 2),
            ("#!lua\n\nreturn 7 -- last", 3),
        ] {
            let composed = compose(text, prologue);
            let at = composed.lines().position(|line| line.contains("return 7")).unwrap();
            assert_eq!(at + 1, line, "{composed}");
            assert!(!composed.contains("About it"), "{composed}");
        }
    }

    #[test]
    fn a_shebang_stays_the_first_line() {
        assert_eq!(split_shebang("#!lua\nreturn 1"), ("#!lua\n", "return 1"));
        assert_eq!(split_shebang("#!lua"), ("#!lua", ""));
        assert_eq!(split_shebang("return '#!lua'"), ("", "return '#!lua'"));
    }
}
