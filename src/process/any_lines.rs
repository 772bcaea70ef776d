//! The lines of waiters that a client has, or the composites of a process.
//!
//! What is offered in them is a claim, of which this room knows nothing. So it keeps lines of whatever type, and they
//! are had by that type alone.

use std::{
    any::Any,
    fmt,
    sync::{Arc, OnceLock},
};

use crate::wait::{Lines, Offered};

/// Lines, made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct AnyLines(OnceLock<Box<dyn ClosedTogether>>);

/// What lines do, whatever is offered in them.
trait ClosedTogether: Any + fmt::Debug + Send + Sync {
    fn close(&self);
}

impl<T: Offered> ClosedTogether for Arc<Lines<T>> {
    fn close(&self) {
        Lines::close(self);
    }
}

impl AnyLines {
    /// Those in which a `T` is offered. There are none of another type: the library has one type of claim.
    pub(crate) fn of<T: Offered>(&self) -> &Arc<Lines<T>> {
        let lines = self.0.get_or_init(|| Box::new(Arc::<Lines<T>>::default()));
        let lines: &dyn Any = &**lines;
        lines.downcast_ref().expect("invariant: one type is offered in all lines")
    }

    /// Tells all waiters that nothing is granted any more.
    pub(crate) fn close(&self) {
        self.0.get().into_iter().for_each(|lines| lines.close());
    }
}
