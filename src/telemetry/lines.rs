//! Lines on their way to standard error, bounded in bytes: whoever reads it may stop, or be slow.

use crate::config::LogForm;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;

/// So many bytes may wait to be written.
const ROOM: usize = 4 << 20;
/// What a line counts at least, since it takes more than its letters. So the count of lines is bounded too.
const LINE: usize = 256;

/// Where lines are written to; clones write to the same. A line for which there is no room is lost, and counted.
#[derive(Clone)]
pub struct Lines {
    writer: NonBlocking,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    lost: AtomicU64,
}

impl Lines {
    /// Lines that are written to `target` by a thread of its own. What is lost is told there, in the same form, once lines
    /// are taken again. Dropping the guard writes what is left.
    pub fn to(target: impl Write + Send + 'static, form: LogForm) -> (Self, WorkerGuard) {
        let waiting = Arc::<Waiting>::default();
        let target = Target { target, form, waiting: Arc::clone(&waiting) };
        // The limit in bytes is reached first, so nothing is lost that is not counted.
        let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(ROOM / LINE + 1);
        let (writer, guard) = builder.finish(target);
        (Self { writer, waiting }, guard)
    }
}

fn size(line: &[u8]) -> usize {
    line.len().max(LINE)
}

impl Write for Lines {
    /// Takes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let more = |bytes: usize| Some(bytes + size(line)).filter(|&bytes| bytes <= ROOM);
        match self.waiting.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => self.writer.write(line),
            Err(_) => {
                self.waiting.lost.fetch_add(1, Ordering::Relaxed);
                Ok(line.len())
            }
        }
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

/// Standard error, as seen by the thread that writes.
struct Target<W> {
    target: W,
    form: LogForm,
    waiting: Arc<Waiting>,
}

impl<W: Write> Write for Target<W> {
    /// Writes one whole line, as the thread has it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.target.write_all(line);
        self.waiting.bytes.fetch_sub(size(line), Ordering::Relaxed);
        written?;
        let lost = self.waiting.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let timestamp = humantime::format_rfc3339_micros(SystemTime::now());
            let message = "lines of the log were lost, because nobody read it";
            match self.form {
                LogForm::Text => writeln!(self.target, "{timestamp}  WARN nqueens::telemetry: {lost} {message}"),
                LogForm::Json => writeln!(
                    self.target,
                    r#"{{"timestamp":"{timestamp}","level":"WARN","message":"{message}","lost":{lost},"target":"nqueens::telemetry"}}"#
                ),
            }?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    /// Takes a line when somebody asks for it.
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

    fn lines(form: LogForm) -> (Lines, WorkerGuard, Receiver<Vec<u8>>) {
        let (pipe, reader) = sync_channel(0);
        let (lines, guard) = Lines::to(Pipe(pipe), form);
        (lines, guard, reader)
    }

    /// Text comes in pieces, a line ends with its line feed.
    fn next(reader: &Receiver<Vec<u8>>) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(reader.recv().expect("more"));
        }
        String::from_utf8(line).expect("text")
    }

    #[test]
    fn long_and_short_lines_are_bounded_and_what_is_lost_is_told() {
        for (length, fit) in [(1 << 20, 4), (100, ROOM / LINE), (ROOM + 1, 0)] {
            let (mut lines, _guard, reader) = lines(LogForm::Json);
            let line = [vec![b'x'; length - 1], b"\n".to_vec()].concat();
            for _ in 0..fit + 7 {
                assert_eq!(lines.write(&line).expect("taken"), length);
            }
            assert!(lines.waiting.bytes.load(Ordering::Relaxed) <= ROOM);
            assert_eq!(lines.waiting.lost.load(Ordering::Relaxed), 7, "of lines with {length} bytes");
            if fit > 0 {
                assert_eq!(next(&reader).len(), length);
            } else {
                lines.write_all(b"short\n").expect("taken");
                assert_eq!(next(&reader), "short\n");
            }
            let told: serde_json::Value = serde_json::from_str(&next(&reader)).expect("JSON");
            assert_eq!((&told["lost"], &told["level"]), (&7.into(), &"WARN".into()));
            for _ in 1..fit {
                assert_eq!(next(&reader).len(), length);
            }
            // All is taken, so there is room again, and nothing more to tell.
            for _ in 0..3 {
                lines.write_all(b"again\n").expect("taken");
                assert_eq!(next(&reader), "again\n");
            }
        }
    }

    #[test]
    fn the_text_form_is_a_line_too() {
        let (mut lines, _guard, reader) = lines(LogForm::Text);
        lines.write_all(&[b'x'; ROOM + 1]).expect("taken");
        lines.write_all(b"short\n").expect("taken");
        assert_eq!(next(&reader), "short\n");
        assert!(next(&reader).contains("WARN nqueens::telemetry: 1 lines of the log were lost"));
    }

    #[test]
    fn a_target_that_fails_gives_its_room_back() {
        let (mut lines, _guard, reader) = lines(LogForm::Text);
        drop(reader);
        for _ in 0..100 {
            lines.write_all(&[b'x'; ROOM]).expect("taken");
            while lines.waiting.bytes.load(Ordering::Relaxed) > 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(lines.waiting.lost.load(Ordering::Relaxed), 0);
    }
}
