//! A connection's socket: it tells the connection's phase what happens on it.

use super::alarm::Alarm;
use super::phase::{Phase, Shared};
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::MutexGuard;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// How often a socket is looked at whose close could not wake anybody, since it has unread bytes.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How many bytes of an answer the kernel may hold that it has not sent yet.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT: u32 = 128 << 10;

/// See the module.
pub(super) struct Socket {
    stream: TcpStream,
    phase: Shared,
    look_again: Alarm,
    /// Bytes came after the end of writing.
    still_sending: bool,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, phase: Shared) -> Self {
        tune(&stream);
        Self { stream, phase, look_again: Alarm::default(), still_sending: false }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock()
    }

    /// Notes what came of trying to write.
    fn noted<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &outcome {
            Poll::Ready(Ok(_)) => self.phase().wrote(Instant::now),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.phase().blocked(Instant::now()),
        }
        outcome
    }

    /// Looks whether the caller has closed its sending side, and sees to it that the task is woken when it does. Bytes
    /// that came before that and are not to be read yet do not hide it; only then nothing would wake the task.
    fn watch_for_hang_up(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.stream.poll_read_ready(cx)?.is_pending() {
            return Ok(());
        }
        let ready = match pin!(self.stream.ready(Interest::READABLE | Interest::WRITABLE)).poll(cx) {
            Poll::Ready(ready) => ready?,
            Poll::Pending => return Ok(()),
        };
        if ready.is_read_closed() && ready.is_write_closed() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if ready.is_read_closed() {
            self.phase().hung_up(Instant::now());
        } else {
            self.look_again.rings(Instant::now() + LOOK_AGAIN, cx);
        }
        Ok(())
    }
}

/// Sets the options of an accepted socket. Where that fails, it works all the same.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true); // answers are written whole; waiting for more helps nobody
    // Left alone, the kernel takes some 4 MB for a reader that does not read. A bound on what it has not sent leaves it
    // free to have as much on its way as the path can carry; a fixed send buffer bounds both together, so that a far
    // reader gets one buffer a round trip. Measured with 100 ms there and back: 22 MB/s left alone, 19 with this
    // bound, 4 with a send buffer of 256 KB.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.phase().heard(Instant::now());
        }
        outcome
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, data);
        self.noted(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.noted(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The HTTP library flushes whenever it is woken and has nothing left to write, and while it waits for an answer
    /// it does not read. So this is where the end of an answer is seen, and a caller that hangs up before it.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        let watch = {
            let mut phase = self.phase();
            phase.flushed(Instant::now);
            phase.is_to_be_watched()
        };
        Poll::Ready(if watch { self.watch_for_hang_up(cx) } else { Ok(()) })
    }

    /// A socket that is closed while bytes still come resets the connection, and the reset overtakes the answer: who
    /// sends a body that is refused would never read why. So what still comes is taken and thrown away for a while.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        this.phase().closing(Instant::now());
        let mut rest = [0; 8192];
        loop {
            let mut buffer = ReadBuf::new(&mut rest);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => this.still_sending = true,
                Poll::Pending if this.still_sending || this.phase().is_body_coming() => return Poll::Pending,
                Poll::Pending | Poll::Ready(_) => return Poll::Ready(Ok(())), // nothing comes, or the caller has closed
            }
        }
    }
}
