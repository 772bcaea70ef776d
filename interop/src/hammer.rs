//! Acquires and releases, and has a witness for it: a file that would lose a count if two were inside
//! the lock at once. `java/src/main/java/Hammer.java` is the same.
//!
//! The witness says `COUNT TOKEN LANGUAGE MICROSECONDS`: how many holds there were, and which token,
//! in which language and until when the last one was. Beside it is a file `inside` while a holder is.
//! A holder that only reads looks at both, as others may meanwhile: twice, so that a writer that
//! comes and goes in between is seen as well.
//!
//! The answer is four numbers: how often another was inside, how often a token was not greater than
//! the one before, how often the last one inside was of another language, and the longest time from
//! the end of a hold to the beginning of the next, in microseconds. Readers count as the one that
//! comes, not as the one that was.

use std::{
    error::Error,
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, SystemTime, SystemTimeError},
};

use crate::kinds::PeerLock;

pub(crate) struct Hammer<'a> {
    folder: &'a Path,
    overlaps: u32,
    backward: u32,
    crossings: u32,
    longest: u128,
}

impl<'a> Hammer<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self { folder, overlaps: 0, backward: 0, crossings: 0, longest: 0 }
    }

    /// Takes the locks by turns; of each, whether it is for reading.
    pub(crate) async fn run(
        mut self,
        locks: &[(Box<dyn PeerLock>, bool)],
        holds: usize,
    ) -> Result<String, Box<dyn Error>> {
        for (lock, reads) in locks.iter().cycle().take(holds) {
            let guard = lock.acquire().await?.ok_or("not granted, though it was waited for")?;
            if *reads {
                self.reading()?;
            } else {
                self.section(guard.fencing_token().map(|token| token.get()))?;
            }
            guard.release().await?;
            // Without it, the one that lets go would be the next one, too.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let Self { overlaps, backward, crossings, longest, .. } = self;
        Ok(format!("{overlaps} {backward} {crossings} {longest}"))
    }

    /// Blocks, so that everything between reading and writing takes as little time as in Java.
    fn section(&mut self, token: Option<u64>) -> Result<(), Box<dyn Error>> {
        let (inside, witness) = (self.folder.join("inside"), self.folder.join("witness"));
        match File::create_new(&inside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.overlaps += 1,
            created => drop(created?),
        }
        let (count, last_token) = self.look(&fs::read_to_string(&witness)?)?;
        let token = token.map_or(Ok(WITHOUT_TOKEN), i64::try_from)?;
        self.backward += u32::from(token != WITHOUT_TOKEN && token <= last_token);
        let count = count + 1;
        fs::write(&witness, format!("{count} {token} {SELF} {}", now_us()?))?;
        match fs::remove_file(&inside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.overlaps += 1,
            removed => removed?,
        }
        Ok(())
    }

    fn reading(&mut self) -> Result<(), Box<dyn Error>> {
        let (inside, witness) = (self.folder.join("inside"), self.folder.join("witness"));
        let is_disturbed = inside.try_exists()?;
        let before = fs::read_to_string(&witness)?;
        self.look(&before)?;
        let is_changed = fs::read_to_string(&witness)? != before;
        self.overlaps += u32::from(is_disturbed || is_changed || inside.try_exists()?);
        Ok(())
    }

    /// The count of the witness, and the last token.
    fn look(&mut self, last: &str) -> Result<(u32, i64), Box<dyn Error>> {
        let [count, token, language, left_at] = last.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("the witness is torn: {last:?}").into());
        };
        self.crossings += u32::from(language != SELF);
        self.longest = self.longest.max(now_us()?.saturating_sub(left_at.parse()?));
        Ok((count.parse()?, token.parse()?))
    }
}

pub(crate) const SELF: &str = "rust";
const WITHOUT_TOKEN: i64 = -1;

pub(crate) fn now_us() -> Result<u128, SystemTimeError> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_micros())
}
