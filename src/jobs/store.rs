//! The file that jobs and finished counts are kept in.
//!
//! Opening it never trusts it: the database checks its pages, every record is checked by itself, and the finished
//! tasks of a count must be a set of disjoint ranges of its plan. What fails is left out, and the file as it was is
//! **set aside** under another name, with what was sound written into a new one. A file that cannot be had at all
//! (another process holds it, the folder is not writable, the disk is full) is not damaged, and stays where it is.

use super::ledger::Part;
use super::reading::{Contents, Finding, Reading};
use super::record::{self, JobRecord};
use crate::counts::Count;
use crate::telemetry::panic_message;
use redb::{
    Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, StorageError, TableDefinition, TableError,
};
use std::fs;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file's name in the data directory.
pub const FILE: &str = "nqueens.redb";

/// Says what the file is.
const FORMAT: TableDefinition<'_, &str, u32> = TableDefinition::new("nqueens-ledger");
const FORMAT_VERSION: u32 = 1;
const JOBS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("jobs");
const RANGES: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("ranges");
const COUNTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("counts");

/// The database needs no more: the ledger is small.
const CACHE: usize = 4 << 20;

/// Something to write.
#[derive(Clone, Debug)]
pub enum Change {
    /// A job but for its tasks.
    Job(u32, JobRecord),
    /// A range of finished tasks from its first one on, or that it is gone.
    Range(u32, u64, Option<Part>),
    /// A finished count.
    Count(u32, Count),
}

/// Where changes go: a file, or nowhere.
pub struct Store {
    path: Option<PathBuf>,
    /// Nothing after a failed write, until the file is opened anew.
    database: Mutex<Option<Database>>,
}

/// Why a file is not used as it is.
#[derive(Debug, PartialEq, Eq)]
enum Trouble {
    /// It cannot be had.
    Unavailable(String),
    /// It is not, or not wholly, what was once written: a word for its new name, and the reason.
    Unsound(&'static str, String),
}

impl Store {
    /// A store that keeps nothing.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { path: None, database: Mutex::new(None) }
    }

    /// The store in folder `directory`, which is made if need be, and what it has. Blocks.
    ///
    /// # Errors
    /// Why it cannot be had, in plain words.
    pub fn open(directory: &Path) -> Result<(Self, Contents), String> {
        let path = directory.join(FILE);
        fs::create_dir_all(directory).map_err(|error| format!("the folder cannot be made: {error}"))?;
        let (database, contents) = match caught(|| read(&path)) {
            Ok((database, contents, None)) => (database, contents),
            Ok((database, contents, Some((kind, reason)))) => {
                drop(database);
                (set_aside(&path, kind, &reason, &contents)?, contents)
            }
            Err(Trouble::Unsound(kind, reason)) => {
                let contents = Contents::default();
                (set_aside(&path, kind, &reason, &contents)?, contents)
            }
            Err(Trouble::Unavailable(reason)) => return Err(reason),
        };
        Ok((Self { path: Some(path), database: Mutex::new(Some(database)) }, contents))
    }

    /// Whether what is written stays when the process ends.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.path.is_some()
    }

    /// Lets the file go, for the next to open it; nothing is written after this. Blocks.
    pub fn close(&self) {
        drop(self.database.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Writes all changes or none. Blocks.
    ///
    /// # Errors
    /// Why they cannot be written, in plain words. The next call opens the file anew.
    pub fn write(&self, changes: &[Change]) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let written = caught(|| {
            let database = match slot.take() {
                Some(database) => database,
                None => open(path)?,
            };
            write(&database, changes)?;
            Ok(database)
        });
        match written {
            Ok(database) => {
                *slot = Some(database);
                Ok(())
            }
            Err(Trouble::Unavailable(reason) | Trouble::Unsound(_, reason)) => Err(reason),
        }
    }
}

/// Runs `work`; that it panics, as the database may on a damaged file, means damage.
fn caught<T>(work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Trouble::Unsound("damaged", format!("the database gave up on it: {}", panic_message(panic.as_ref()))))
    })
}

fn damaged(reason: &impl ToString) -> Trouble {
    Trouble::Unsound("damaged", reason.to_string())
}

impl From<DatabaseError> for Trouble {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                Self::Unavailable("another process holds it open".to_owned())
            }
            DatabaseError::Storage(error) => error.into(),
            DatabaseError::RepairAborted | DatabaseError::UpgradeRequired(_) => damaged(&error),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<StorageError> for Trouble {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Corrupted(reason) => damaged(&reason),
            // What the file says leads beyond its end, or nowhere.
            StorageError::Io(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof
                ) =>
            {
                damaged(&error)
            }
            StorageError::Io(error) => Self::Unavailable(error.to_string()),
            StorageError::ValueTooLarge(_) => damaged(&error),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<TableError> for Trouble {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            error => Self::Unsound("foreign", error.to_string()),
        }
    }
}

impl From<redb::TransactionError> for Trouble {
    fn from(error: redb::TransactionError) -> Self {
        match error {
            redb::TransactionError::Storage(error) => error.into(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<redb::CommitError> for Trouble {
    fn from(error: redb::CommitError) -> Self {
        match error {
            redb::CommitError::Storage(error) => error.into(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

/// Opens the database, every page of it checked.
fn open(path: &Path) -> Result<Database, Trouble> {
    Ok(Database::builder().set_cache_size(CACHE).set_check_integrity_on_open(true).create(path)?)
}

/// Opens and reads the file; one that is not there or empty is made.
fn read(path: &Path) -> Result<(Database, Contents, Finding), Trouble> {
    let database = open(path)?;
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        drop(transaction);
        write(&database, &[])?;
        return Ok((database, Contents::default(), None));
    }
    let format = match transaction.open_table(FORMAT) {
        Ok(table) => table.get("version")?.map(|version| version.value()),
        Err(TableError::TableDoesNotExist(_)) => None,
        Err(error) => return Err(error.into()),
    };
    if format != Some(FORMAT_VERSION) {
        return Err(Trouble::Unsound("foreign", "it is not a ledger of this service's format".to_owned()));
    }
    let mut reading = Reading::default();
    for entry in transaction.open_table(COUNTS)?.iter()? {
        let (key, value) = entry?;
        reading.count(key.value(), value.value());
    }
    for entry in transaction.open_table(JOBS)?.iter()? {
        let (key, value) = entry?;
        reading.job(key.value(), value.value());
    }
    for entry in transaction.open_table(RANGES)?.iter()? {
        let (key, value) = entry?;
        let (n, from) = key.value();
        reading.range(n, from, value.value());
    }
    drop(transaction);
    let (contents, finding) = reading.end();
    Ok((database, contents, finding))
}

fn write(database: &Database, changes: &[Change]) -> Result<(), Trouble> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(FORMAT)?.insert("version", FORMAT_VERSION)?;
        let mut jobs = transaction.open_table(JOBS)?;
        let mut ranges = transaction.open_table(RANGES)?;
        let mut counts = transaction.open_table(COUNTS)?;
        for change in changes {
            match change {
                Change::Job(n, job) => drop(jobs.insert(n, record::write_job(*n, job).as_slice())?),
                Change::Range(n, from, Some(part)) => {
                    drop(ranges.insert((*n, *from), record::write_range(*n, *from, *part).as_slice())?);
                }
                Change::Range(n, from, None) => drop(ranges.remove((*n, *from))?),
                Change::Count(n, count) => drop(counts.insert(n, record::write_count(*n, *count).as_slice())?),
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Puts a new file with the sound `contents` in the place of one that is not sound, which is kept under another name.
fn set_aside(path: &Path, kind: &str, reason: &str, contents: &Contents) -> Result<Database, String> {
    let kept = free_name(path, kind);
    let new = path.with_extension("new");
    let replaced = caught(|| {
        let io = |error: std::io::Error| Trouble::Unavailable(error.to_string());
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let database = open(&new)?;
        write(&database, &all(contents))?;
        fs::rename(path, &kept).map_err(io)?;
        fs::rename(&new, path).map_err(io)?;
        Ok(database)
    });
    match replaced {
        Ok(database) => {
            tracing::error!(kept = %kept.display(), reason, "the ledger was {kind} and has been set aside; a new one goes on with what was sound");
            Ok(database)
        }
        Err(Trouble::Unavailable(why) | Trouble::Unsound(_, why)) => {
            Err(format!("the ledger is {kind} ({reason}) and cannot be set aside: {why}"))
        }
    }
}

/// A name that no file has yet.
fn free_name(path: &Path, kind: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let named = |serial: u64| path.with_file_name(format!("{FILE}.{kind}-{}", seconds + serial));
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

/// All of it as changes.
fn all(contents: &Contents) -> Vec<Change> {
    let counts = contents.counts.iter().map(|(&n, &count)| Change::Count(n, count));
    let jobs = contents.jobs.iter().map(|(&n, (job, _))| Change::Job(n, job.clone()));
    let ranges = contents
        .jobs
        .iter()
        .flat_map(|(&n, (_, ledger))| ledger.ranges().map(move |(from, part)| Change::Range(n, from, Some(part))));
    counts.chain(jobs).chain(ranges).collect()
}
