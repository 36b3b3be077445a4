//! Channels. What was done before a send comes before what follows a receive from the same channel, and, if the channel is
//! bounded, what was done before a receive comes before what follows a later send.
//!
//! Order is told for the channel and not for each message: a receive comes after all sends so far. That is more order than there
//! is, so that less is found, and nothing wrong.

use crate::tell::{self, DroppedUnseen, Unseen};
use real::fmt;
use real::sync::mpsc as original;
use real::time::Duration;

pub use real::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// The numbers by which the order of a channel is told.
#[derive(Clone, Copy)]
struct Order {
    sent: usize,
    /// 0 if nobody waits for room.
    received: usize,
}

impl Order {
    #[inline(always)]
    fn sending<R, E>(self, send: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        tell::before(self.sent);
        let result = unseen(send);
        if self.received != 0 && result.is_ok() {
            tell::after(self.received);
        }
        result
    }

    /// Who learns that there is no sender any more comes after all that senders did.
    #[inline(always)]
    fn receiving<R, E>(
        self,
        receive: impl FnOnce() -> Result<R, E>,
        disconnected: impl FnOnce(&E) -> bool,
    ) -> Result<R, E> {
        if self.received != 0 {
            tell::before(self.received);
        }
        let result = unseen(receive);
        if result.as_ref().map_or_else(disconnected, |_| true) {
            tell::after(self.sent);
        }
        result
    }
}

/// Does something whose accesses are not looked at.
#[inline(always)]
fn unseen<R>(act: impl FnOnce() -> R) -> R {
    let _unseen = Unseen::begin();
    act()
}

/// `std::sync::mpsc::channel`.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = unseen(original::channel);
    let (sender, receiver) = (DroppedUnseen::new(sender), DroppedUnseen::new(receiver));
    let order = Order { sent: tell::token(), received: 0 };
    (Sender { sender, order }, Receiver { receiver, order })
}

/// `std::sync::mpsc::sync_channel`.
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (sender, receiver) = unseen(|| original::sync_channel(bound));
    let (sender, receiver) = (DroppedUnseen::new(sender), DroppedUnseen::new(receiver));
    let order = Order { sent: tell::token(), received: tell::token() };
    (SyncSender { sender, order }, Receiver { receiver, order })
}

/// `std::sync::mpsc::Sender`.
pub struct Sender<T> {
    sender: DroppedUnseen<original::Sender<T>>,
    order: Order,
}

/// `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T> {
    sender: DroppedUnseen<original::SyncSender<T>>,
    order: Order,
}

/// `std::sync::mpsc::Receiver`.
pub struct Receiver<T> {
    receiver: DroppedUnseen<original::Receiver<T>>,
    order: Order,
}

impl<T> Sender<T> {
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.order.sending(|| self.sender.send(value))
    }
}

impl<T> SyncSender<T> {
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.order.sending(|| self.sender.send(value))
    }

    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.order.sending(|| self.sender.try_send(value))
    }
}

impl<T> Receiver<T> {
    pub fn recv(&self) -> Result<T, RecvError> {
        self.order.receiving(|| self.receiver.recv(), |_| true)
    }

    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.order.receiving(|| self.receiver.try_recv(), |error| *error == TryRecvError::Disconnected)
    }

    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.order
            .receiving(|| self.receiver.recv_timeout(timeout), |error| *error == RecvTimeoutError::Disconnected)
    }

    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender { sender: DroppedUnseen::new(unseen(|| (*self.sender).clone())), order: self.order }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        SyncSender { sender: DroppedUnseen::new(unseen(|| (*self.sender).clone())), order: self.order }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        tell::before(self.order.sent);
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        tell::before(self.order.sent);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sender.fmt(f)
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sender.fmt(f)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.receiver.fmt(f)
    }
}

/// `std::sync::mpsc::Iter`.
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// `std::sync::mpsc::TryIter`.
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// `std::sync::mpsc::IntoIter`.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
