//! The pipe between palisade and its supervisor.
//!
//! A pair of sequenced-packet sockets: each message arrives whole or not at all, the first one
//! carries the command's standard input with it, and the end of either process is an end of file
//! for the other. Both ends close on exec, so that the command never holds the pipe open.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixDatagram as StdSocket,
    },
};

use rustix::{
    cmsg_space,
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    },
};
use tokio::{io::Interest, net::UnixDatagram};

/// One end of the pipe. To std and tokio any socket of packets is a datagram socket.
#[derive(Debug)]
pub(crate) struct Link(UnixDatagram);

impl Link {
    /// Makes the pipe: our end, and the other's, to be its standard input.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self::adopt(ours)?, theirs))
    }

    /// The end that was handed to this process as its standard input.
    pub(crate) fn from_stdin() -> io::Result<Self> {
        Self::adopt(io::stdin().as_fd().try_clone_to_owned()?)
    }

    fn adopt(end: OwnedFd) -> io::Result<Self> {
        let end = StdSocket::from(end);
        end.set_nonblocking(true)?;
        Ok(Self(UnixDatagram::from_std(end)?))
    }

    /// Sends a message, with a descriptor if need be. Never waits: to a peer that does not read,
    /// because it is stopped, messages are refused once its buffer is full.
    pub(crate) fn send(&self, message: &str, carried: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let carried = carried.as_slice();
        if !carried.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(carried));
        }
        let message = [IoSlice::new(message.as_bytes())];
        sendmsg(&self.0, &message, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for the next message; `None` once the other process has ended. Cancel-safe.
    pub(crate) async fn receive(&self) -> io::Result<Option<Received>> {
        self.0.async_io(Interest::READABLE, || read(&self.0)).await
    }

    /// The next message if there is one, or the end if there was one.
    pub(crate) fn receive_now(&self) -> Option<io::Result<Option<Received>>> {
        match read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            received => Some(received),
        }
    }
}

/// A message, and the descriptor that came with it.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) message: String,
    pub(crate) carried: Option<OwnedFd>,
}

fn read(end: &UnixDatagram) -> io::Result<Option<Received>> {
    let mut bytes = [0; LONGEST];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(&mut bytes)];
    let length = match recvmsg(end, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(received) => received.bytes,
        // The peer ended with messages of ours unread. That is told once, before the messages it
        // has left us: they are read by the next call.
        Err(Errno::CONNRESET) => return read(end),
        Err(error) => return Err(error.into()),
    };
    if length == 0 {
        return Ok(None);
    }
    let carried = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let text = bytes.get(..length).unwrap_or_default();
    Ok(Some(Received { message: String::from_utf8_lossy(text).into_owned(), carried }))
}

/// No message is longer than this.
const LONGEST: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_arrive_whole_and_in_order_and_then_the_end_is_seen() {
        let (ours, theirs) = Link::pair().expect("a pair");
        let theirs = Link::adopt(theirs).expect("the other end");
        ours.send("one", None).expect("sent");
        ours.send("two", Some(io::stderr().as_fd())).expect("sent");
        drop(ours);
        let first = theirs.receive().await.expect("readable").expect("a message");
        assert_eq!((first.message.as_str(), first.carried.is_some()), ("one", false));
        let second = theirs.receive().await.expect("readable").expect("a message");
        assert_eq!((second.message.as_str(), second.carried.is_some()), ("two", true));
        assert!(theirs.receive().await.expect("readable").is_none());
    }

    #[tokio::test]
    async fn last_words_are_heard_though_our_own_went_unread() {
        let (ours, theirs) = Link::pair().expect("a pair");
        let theirs = Link::adopt(theirs).expect("the other end");
        ours.send("unread", None).expect("sent");
        theirs.send("last words", None).expect("sent");
        drop(theirs);
        let last = ours.receive().await.expect("readable").expect("a message");
        assert_eq!(last.message, "last words");
        assert!(ours.receive().await.expect("readable").is_none());
    }

    #[tokio::test]
    async fn sending_to_a_peer_that_does_not_read_is_refused_instead_of_waiting() {
        let (ours, _theirs) = Link::pair().expect("a pair");
        let refused = (0..100_000).find_map(|_| ours.send("deadline 1", None).err());
        assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    }
}
