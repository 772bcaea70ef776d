//! What `palisade completions --help` says.

pub(crate) const ABOUT: &str = "\
Print what a shell completes words of palisade by

It is made of the same words as this help, so it fits the version that prints it.";

pub(crate) const MORE: &str = "\
Examples:
  palisade completions bash > /etc/bash_completion.d/palisade
  palisade completions zsh > /usr/local/share/zsh/site-functions/_palisade
  palisade completions fish > ~/.config/fish/completions/palisade.fish

Exit codes:
    0  it was printed
   64  wrong use, or a shell that is not known
   71  it could not be printed";
