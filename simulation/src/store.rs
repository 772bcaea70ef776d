//! What the locks guard: a value for each, that says who wrote it last.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use checkers::history::SectionId;

/// Looks at tokens where it is shown any: whoever comes with a lesser one than it has seen is refused.
#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<BTreeMap<&'static str, Value>>);

#[derive(Debug, Default)]
struct Value {
    writer: Option<SectionId>,
    greatest: u64,
}

/// The store has seen a greater token.
#[derive(Debug)]
pub(crate) struct TooOld;

impl Store {
    pub(crate) fn read(
        &self,
        name: &'static str,
        token: Option<u64>,
    ) -> Result<Option<SectionId>, TooOld> {
        let mut values = self.values();
        let value = values.entry(name).or_default();
        value.admit(token)?;
        Ok(value.writer)
    }

    pub(crate) fn write(
        &self,
        name: &'static str,
        token: Option<u64>,
        writer: SectionId,
    ) -> Result<(), TooOld> {
        let mut values = self.values();
        let value = values.entry(name).or_default();
        value.admit(token)?;
        value.writer = Some(writer);
        Ok(())
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<&'static str, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Value {
    fn admit(&mut self, token: Option<u64>) -> Result<(), TooOld> {
        let token = token.unwrap_or(self.greatest);
        if token < self.greatest {
            return Err(TooOld);
        }
        self.greatest = token;
        Ok(())
    }
}
