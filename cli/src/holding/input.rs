//! The end of our standard input.

use std::{io, thread};

use tokio::sync::oneshot;

/// A standard input that is read to its end.
#[derive(Debug)]
pub(crate) struct Input {
    end: oneshot::Receiver<()>,
}

impl Input {
    /// Reads it on a thread of its own: no kind of input is certain to be waited for otherwise.
    pub(crate) fn watched() -> Self {
        let (tell, end) = oneshot::channel();
        thread::spawn(move || {
            // What cannot be read has ended.
            let _read = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _nobody_listens = tell.send(());
        });
        Self { end }
    }

    /// Completes once it has ended.
    pub(crate) async fn ended(&mut self) {
        let _told = (&mut self.end).await;
    }
}
