//! Writes the man pages of the tool into a folder: `cargo xtask man DIR`. One page for each command.

use std::{env, fs, io, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("usage: man DIR");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes all of them.
#[cfg(target_os = "linux")]
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(palisade_cli::command(), folder)?;
    for page in fs::read_dir(folder)? {
        let page = page?.path();
        if page.extension().is_some_and(|section| section == "1") {
            fs::write(&page, with_lines(&fs::read_to_string(&page)?))?;
        }
    }
    Ok(())
}

/// With the lines of examples, fields and exit codes as they are: they would be filled as if they were prose.
#[cfg(target_os = "linux")]
fn with_lines(page: &str) -> String {
    let Some((before, details)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let end = details.find("\n.SH ").map_or(details.len(), |at| at + 1);
    let (details, after) = details.split_at(end);
    format!("{before}.SH DETAILS\n.nf\n{details}.fi\n{after}")
}

#[cfg(not(target_os = "linux"))]
fn write(_folder: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "the tool needs Linux"))
}
