//! The store that the locks guard.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use workload::{Change, Store, TooOld, Value};

/// Keeps the values for one run.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<BTreeMap<&'static str, Value>>);

impl Store for Memory {
    fn transact(&self, lock: &'static str, change: Change<'_>) -> Result<Value, TooOld> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(lock).or_default();
        *value = change(*value)?;
        Ok(*value)
    }
}
