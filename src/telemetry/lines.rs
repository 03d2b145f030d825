//! Lines on their way to standard error, bounded in bytes: whoever reads it may stop, or be slow.
//!
//! Lines wait in one buffer. A thread of its own takes all that is there, writes it, and then lets a moment pass: a lone
//! line is written at once, and of many each costs little, since they are written together and nobody is woken for one.

use crate::config::LogForm;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};
use tracing_subscriber::fmt::MakeWriter;

/// So many bytes may wait to be written.
const ROOM: usize = 4 << 20;
/// About so many bytes are written at a time. Their room is free when they are.
const PIECE: usize = 64 << 10;
/// What passes between two turns of the writing thread.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the last lines may take at the end, if nobody reads them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where lines are written to; clones write to the same. A line for which there is no room is lost, and counted.
#[derive(Clone)]
pub struct Lines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There is something for a thread that is idle, or the end has come.
    wake: Condvar,
    /// The thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// What the thread has not taken yet.
    lines: Vec<u8>,
    /// So many bytes it has taken and not written yet.
    in_hand: usize,
    lost: u64,
    /// The thread waits to be woken.
    idle: bool,
    closed: bool,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the writing thread; dropping it writes what is left.
pub struct Writing(Arc<Shared>);

impl Lines {
    /// Lines that are written to `target` by a thread of its own. What is lost is told there, in the same form, as soon
    /// as something can be written again.
    ///
    /// # Errors
    /// Where there can be no such thread.
    pub fn to(target: impl Write + Send + 'static, form: LogForm) -> io::Result<(Self, Writing)> {
        let shared = Arc::<Shared>::default();
        let its = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            its.write_all_to(target, form);
            its.lock().ended = true;
            its.ended.notify_all();
        })?;
        Ok((Self(Arc::clone(&shared)), Writing(shared)))
    }

    /// Adds one whole line, which `write` puts at the end of the buffer.
    pub fn add(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut waiting = self.0.lock();
        let before = waiting.lines.len();
        write(&mut waiting.lines);
        if waiting.lines.len() + waiting.in_hand > ROOM {
            waiting.lines.truncate(before);
            waiting.lost += 1;
        }
        if mem::take(&mut waiting.idle) {
            drop(waiting);
            self.0.wake.notify_all();
        }
    }
}

impl Shared {
    /// The writing thread, until the end. An error of the target is nobody's to be told; its lines are gone.
    fn write_all_to(&self, mut target: impl Write, form: LogForm) {
        let mut lines = Vec::new();
        loop {
            let mut waiting = self.lock();
            while waiting.lines.is_empty() && waiting.lost == 0 {
                if waiting.closed {
                    return;
                }
                waiting.idle = true;
                waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            mem::swap(&mut lines, &mut waiting.lines);
            waiting.in_hand = lines.len();
            let lost = mem::take(&mut waiting.lost);
            drop(waiting);
            let mut rest = &lines[..];
            while !rest.is_empty() {
                let (piece, others) = rest.split_at(piece(rest));
                let _ = target.write_all(piece);
                self.lock().in_hand = others.len();
                rest = others;
            }
            if lost > 0 {
                let _ = tell(&mut target, form, lost);
            }
            lines.clear();
            lines.shrink_to(PIECE);
            let _ = self.wake.wait_timeout_while(self.lock(), PAUSE, |waiting| !waiting.closed);
        }
    }
}

/// The length of the whole lines at the beginning that are written at once; of a very long one it is a part.
fn piece(lines: &[u8]) -> usize {
    if lines.len() <= PIECE {
        return lines.len();
    }
    lines[..PIECE].iter().rposition(|&byte| byte == b'\n').map_or(PIECE, |end| end + 1)
}

fn tell(target: &mut impl Write, form: LogForm, lost: u64) -> io::Result<()> {
    let timestamp = humantime::format_rfc3339_micros(SystemTime::now());
    let message = "lines of the log were lost, because nobody read it";
    let line = match form {
        LogForm::Text => format!("{timestamp}  WARN nqueens::telemetry: {lost} {message}\n"),
        LogForm::Json => format!(
            "{{\"timestamp\":\"{timestamp}\",\"level\":\"WARN\",\"message\":\"{message}\",\"lost\":{lost},\
             \"target\":\"nqueens::telemetry\"}}\n"
        ),
    };
    target.write_all(line.as_bytes())
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.closed = true;
        self.0.wake.notify_all();
        let _ = self.0.ended.wait_timeout_while(waiting, PATIENCE, |waiting| !waiting.ended);
    }
}

impl Write for Lines {
    /// Takes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.add(|lines| lines.extend_from_slice(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    /// Takes bytes when somebody asks for them.
    struct Pipe(SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Asks for bytes, and has them as lines.
    struct Reader {
        pipe: Receiver<Vec<u8>>,
        read: Vec<u8>,
    }

    impl Reader {
        fn next(&mut self) -> String {
            loop {
                if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                    let line = self.read.drain(..=end).collect();
                    return String::from_utf8(line).expect("text");
                }
                self.read.extend(self.pipe.recv().expect("more"));
            }
        }

        /// Reads until it has been told of so many lost lines; gives the number of other lines.
        fn until_told(&mut self, lost: u64) -> usize {
            let (mut told, mut others) = (0, 0);
            while told < lost {
                match serde_json::from_str::<serde_json::Value>(&self.next()) {
                    Ok(line) => {
                        assert_eq!(line["level"], "WARN");
                        told += line["lost"].as_u64().expect("a number");
                    }
                    Err(_) => others += 1,
                }
            }
            assert_eq!(told, lost);
            others
        }
    }

    fn lines(form: LogForm) -> (Lines, Writing, Reader) {
        let (sender, pipe) = sync_channel(0);
        let (lines, writing) = Lines::to(Pipe(sender), form).expect("a thread");
        (lines, writing, Reader { pipe, read: Vec::new() })
    }

    #[test]
    fn long_and_short_lines_are_bounded_and_what_is_lost_is_told() {
        for (length, fit) in [(1 << 20, 4), (1000, ROOM / 1000), (ROOM + 1, 0)] {
            let (mut lines, _writing, mut reader) = lines(LogForm::Json);
            let line = [vec![b'x'; length - 1], b"\n".to_vec()].concat();
            for _ in 0..fit + 7 {
                assert_eq!(lines.write(&line).expect("taken"), length);
            }
            assert_eq!(reader.until_told(7), fit, "of lines with {length} bytes");
            // All is taken, so there is room again, and nothing more to tell.
            for _ in 0..3 {
                lines.write_all(b"again\n").expect("taken");
                assert_eq!(reader.next(), "again\n");
            }
        }
    }

    #[test]
    fn the_text_form_is_a_line_too() {
        let (mut lines, _writing, mut reader) = lines(LogForm::Text);
        lines.write_all(&[b'x'; ROOM + 1]).expect("taken");
        assert!(reader.next().contains("WARN nqueens::telemetry: 1 lines of the log were lost"));
    }

    #[test]
    fn lines_that_wait_are_written_together_and_whole() {
        let (mut lines, _writing, mut reader) = lines(LogForm::Text);
        lines.write_all(b"first\n").expect("taken");
        assert_eq!(reader.next(), "first\n");
        for _ in 0..1000 {
            lines.write_all(&[&[b'x'; 999][..], b"\n"].concat()).expect("taken");
        }
        let (mut pieces, mut bytes) = (0, 0);
        while bytes < 1_000_000 {
            let piece = reader.pipe.recv().expect("more");
            assert!(piece.len() <= PIECE && piece.ends_with(b"\n"));
            (pieces, bytes) = (pieces + 1, bytes + piece.len());
        }
        assert!(pieces < 100, "{pieces}");
    }

    #[test]
    fn the_last_lines_are_written_at_the_end() {
        let (mut lines, writing, mut reader) = lines(LogForm::Text);
        lines.write_all(b"last\n").expect("taken");
        let reader = thread::spawn(move || reader.next());
        drop(writing);
        assert_eq!(reader.join().expect("no panic"), "last\n");
    }

    #[test]
    fn a_target_that_fails_gives_its_room_back() {
        let (mut lines, _writing, reader) = lines(LogForm::Text);
        drop(reader);
        for _ in 0..10 {
            lines.write_all(&[b'x'; ROOM]).expect("taken");
            let taken = |waiting: &Waiting| waiting.lines.is_empty() && waiting.in_hand == 0;
            while !taken(&lines.0.lock()) {
                thread::yield_now();
            }
        }
        assert_eq!(lines.0.lock().lost, 0);
    }
}
