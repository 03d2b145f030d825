//! The file that jobs and finished counts are kept in.
//!
//! Opening it never trusts it: the database checks its pages, every record is checked by itself, and the finished
//! tasks of a count must be a set of disjoint ranges of its plan. What fails is left out, and the file as it was is
//! **set aside** under another name, with what was sound in a new one that takes its place in one step. A file that
//! cannot be had at all (another process holds it, the folder is not writable, the disk is full) is not damaged, and
//! stays where it is.

use super::fault::{Fault, caught};
use super::old;
use super::reading::{Contents, Finding, Reading};
use super::record::{Key, Records};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition, TableError};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The file's name in the data directory.
pub const NAME: &str = "nqueens.redb";

/// Says what the file is.
const FORMAT: TableDefinition<'_, &str, u32> = TableDefinition::new("nqueens-ledger");
const FORMAT_VERSION: u32 = 2;
const COUNTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("counts");
const JOBS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("jobs");
const RANGES: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("ranges");

/// The database needs no more: the ledger is small.
const CACHE: usize = 4 << 20;

/// Which file it is: its device and its number there.
pub type Identity = (u64, u64);

/// See the module. All of it blocks.
pub struct File {
    path: PathBuf,
    identity: Identity,
    database: Database,
}

/// A record to write, or that it is gone.
pub type Change<'a> = (Key, Option<&'a [u8]>);

impl File {
    /// The file in folder `directory`, which is made if need be, and what it has.
    ///
    /// # Errors
    /// Why it cannot be had, in plain words.
    pub fn open(directory: &Path) -> Result<(Self, Contents), String> {
        let path = directory.join(NAME);
        fs::create_dir_all(directory).map_err(|error| format!("the folder cannot be made: {error}"))?;
        let (database, contents) = match caught(|| read(&path)) {
            Ok((database, contents, None)) => (database, contents),
            Ok((database, contents, Some((kind, reason)))) => {
                drop(database);
                (set_aside(&path, kind, &reason, &contents.records)?, contents)
            }
            Err(Fault::Unsound(kind, reason)) => {
                let contents = Contents::default();
                (set_aside(&path, kind, &reason, &contents.records)?, contents)
            }
            Err(Fault::Unavailable(reason)) => return Err(reason),
        };
        let identity = identity(&path).map_err(|error| error.to_string())?;
        Ok((Self { path, identity, database }, contents))
    }

    /// Which one it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether it is still the one at its path.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        identity(&self.path).is_ok_and(|found| found == self.identity)
    }

    /// Writes all changes or none.
    ///
    /// # Errors
    /// Why they cannot be written, in plain words. The file has to be opened anew then.
    pub fn write(&self, changes: &[Change<'_>]) -> Result<(), String> {
        match caught(|| write(&self.database, changes)) {
            Ok(()) => Ok(()),
            Err(Fault::Unavailable(reason) | Fault::Unsound(_, reason)) => Err(reason),
        }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Opens the database, every page of it checked.
fn open(path: &Path) -> Result<Database, Fault> {
    Ok(Database::builder().set_cache_size(CACHE).set_check_integrity_on_open(true).create(path)?)
}

/// Opens and reads the file; one that is not there or empty is made.
fn read(path: &Path) -> Result<(Database, Contents, Finding), Fault> {
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
    let mut reading = Reading::default();
    match format {
        Some(FORMAT_VERSION) => {}
        Some(old::FORMAT_VERSION) => {
            old::read(&transaction, &mut reading)?;
            drop(transaction);
            let (contents, finding) = reading.end();
            return Ok((database, contents, finding.or_else(old::finding)));
        }
        _ => return Err(Fault::Unsound("foreign", "it is not a ledger of this service's format".to_owned())),
    }
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

fn write(database: &Database, changes: &[Change<'_>]) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(FORMAT)?.insert("version", FORMAT_VERSION)?;
        let mut counts = transaction.open_table(COUNTS)?;
        let mut jobs = transaction.open_table(JOBS)?;
        let mut ranges = transaction.open_table(RANGES)?;
        for &(key, record) in changes {
            match (key, record) {
                (Key::Count(n), Some(record)) => drop(counts.insert(n, record)?),
                (Key::Count(n), None) => drop(counts.remove(n)?),
                (Key::Job(n), Some(record)) => drop(jobs.insert(n, record)?),
                (Key::Job(n), None) => drop(jobs.remove(n)?),
                (Key::Range(n, from), Some(record)) => drop(ranges.insert((n, from), record)?),
                (Key::Range(n, from), None) => drop(ranges.remove((n, from))?),
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Puts a new file with the sound `records` in the place of one that is not sound, which is kept under another name.
///
/// Wherever a power cut comes between, there is a file at the path, the old one or the new one, and the old one has a
/// name of its own before the new one takes its place.
fn set_aside(path: &Path, kind: &str, reason: &str, records: &Records) -> Result<Database, String> {
    let kept = free_name(path, kind);
    let new = path.with_extension("new");
    let replaced = caught(|| {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let database = open(&new)?;
        let all: Vec<_> = records.iter().map(|(&key, record)| (key, Some(record.as_slice()))).collect();
        write(&database, &all)?;
        fs::File::open(&new)?.sync_all()?;
        if fs::hard_link(path, &kept).is_err() {
            fs::copy(path, &kept)?; // some file systems have no second names
        }
        fs::File::open(&kept)?.sync_all()?;
        sync_folder_of(path)?;
        fs::rename(&new, path)?;
        sync_folder_of(path)?;
        Ok(database)
    });
    match replaced {
        Ok(database) => {
            tracing::error!(kept = %kept.display(), reason, "the ledger has been set aside as {kind}; a new one goes on with what was sound");
            Ok(database)
        }
        Err(Fault::Unavailable(why) | Fault::Unsound(_, why)) => {
            let _ = fs::remove_file(&kept); // it is tried again, and would get a further name each time
            Err(format!("the ledger is {kind} ({reason}) and cannot be set aside: {why}"))
        }
    }
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    fs::File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// A name that no file has yet.
fn free_name(path: &Path, kind: &str) -> PathBuf {
    let now = crate::runs::job::now();
    let named = |serial: u64| path.with_file_name(format!("{NAME}.{kind}-{}", now + serial));
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}
