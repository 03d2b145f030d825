//! What can be wrong with a file.

use crate::telemetry::panic_message;
use redb::{DatabaseError, StorageError, TableError};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a file is not used as it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be had.
    Unavailable(String),
    /// It is not, or not wholly, what was once written: a word for its new name, and the reason.
    Unsound(&'static str, String),
}

/// Runs `work`; that it panics, as the database may on a damaged file, means damage.
pub fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Fault::Unsound("damaged", format!("the database gave up on it: {}", panic_message(panic.as_ref()))))
    })
}

fn damaged(reason: &impl ToString) -> Fault {
    Fault::Unsound("damaged", reason.to_string())
}

impl From<DatabaseError> for Fault {
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

impl From<StorageError> for Fault {
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

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<TableError> for Fault {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            error => Self::Unsound("foreign", error.to_string()),
        }
    }
}

impl From<redb::TransactionError> for Fault {
    fn from(error: redb::TransactionError) -> Self {
        match error {
            redb::TransactionError::Storage(error) => error.into(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<redb::CommitError> for Fault {
    fn from(error: redb::CommitError) -> Self {
        match error {
            redb::CommitError::Storage(error) => error.into(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}
