//! The folder of a drive: its shape, its state, and the codewords that its cells were programmed with.
//!
//! ```text
//!   drive.json     shape, config, seed: never changed; locked while the drive is served
//!   state.bin      the state at a checkpoint, with its number and a checksum
//!   journal.bin    records since the checkpoint, each with a checksum, under the checkpoint's number
//!   cells.bin      codewords as they were programmed, slot by slot; erased superblocks are holes
//! ```
//!
//! Codewords are written to `cells.bin` before the record that says so, and a superblock is erased only after the records that moved
//! its data are on the disk. So wherever the journal is cut off, it gives a state that the drive was in.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Result};

use crate::Shape;
use crate::state::{Record, State};

const FORMAT: &str = "softsense drive, version 1";
const STATE_MAGIC: &[u8; 8] = b"ssstate1";
const JOURNAL_MAGIC: &[u8; 8] = b"ssjourn1";
/// A journal longer than this is replaced by a checkpoint.
const JOURNAL_BYTES: u64 = 64 << 20;
/// Records are handed to the operating system when so many bytes are together.
const BATCH_BYTES: usize = 1 << 16;
/// No record is longer.
const LONGEST_RECORD: usize = 1 << 28;

/// What a drive is: never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    format: String,
    /// The shape.
    pub shape: Shape,
    /// The resolved config, as TOML.
    pub config: String,
    /// The directory that relative paths of the config are taken from.
    pub directory: PathBuf,
    /// The seed of cells.
    pub seed: u64,
}

impl Identity {
    pub(crate) fn new(shape: Shape, config: String, directory: PathBuf, seed: u64) -> Self {
        Self { format: FORMAT.into(), shape, config, directory, seed }
    }
}

/// An open image.
#[derive(Debug)]
pub(crate) struct Image {
    folder: PathBuf,
    /// Held for its lock.
    _identity: File,
    journal: File,
    journal_bytes: u64,
    batch: Vec<u8>,
    checkpoint: u64,
    cells: File,
    cells_to_sync: bool,
    codeword_bytes: u64,
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::io(path, &error)
}

fn damaged(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, path.display().to_string(), format!("the image is damaged: {message}"))
}

fn decode<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|error| damaged(path, error))
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data")
}

/// Writes a file whole or not at all.
fn replace(path: &Path, parts: &[&[u8]]) -> Result<File> {
    let new = path.with_extension("new");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&new).map_err(io(&new))?;
    for part in parts {
        file.write_all(part).map_err(io(&new))?;
    }
    file.sync_all().map_err(io(&new))?;
    std::fs::rename(&new, path).map_err(io(path))?;
    let folder = path.parent().expect("a file in a folder");
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder))?;
    Ok(file)
}

impl Image {
    /// What a folder holds; nothing if there is none, or it is empty.
    ///
    /// # Errors
    /// A folder that holds something else.
    pub(crate) fn identity(folder: &Path) -> Result<Option<Identity>> {
        let path = folder.join("drive.json");
        match std::fs::read(&path) {
            Ok(text) => {
                let identity: Identity = serde_json::from_slice(&text).map_err(|error| damaged(&path, error))?;
                if identity.format != FORMAT {
                    return Err(damaged(&path, format!("found format `{}`, expected `{FORMAT}`", identity.format)));
                }
                Ok(Some(identity))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut entries = match std::fs::read_dir(folder) {
                    Ok(entries) => entries,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(io(folder)(error)),
                };
                match entries.next() {
                    None => Ok(None),
                    Some(_) => Err(Error::new(
                        ErrorKind::Io,
                        folder.display().to_string(),
                        "found a folder with other things in it, expected an image of a drive, or a new or empty folder",
                    )),
                }
            }
            Err(error) => Err(io(&path)(error)),
        }
    }

    /// Makes an image, wholly or not at all.
    pub(crate) fn create(folder: &Path, identity: &Identity, state: &State) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
        let created = Self::create_in(folder, identity, state);
        if created.is_err() {
            for file in ["cells.bin", "state.bin", "state.new", "journal.bin", "journal.new", "drive.new"] {
                let _ = std::fs::remove_file(folder.join(file));
            }
            let _ = std::fs::remove_dir(folder);
        }
        created
    }

    fn create_in(folder: &Path, identity: &Identity, state: &State) -> Result<Self> {
        let cells_path = folder.join("cells.bin");
        let cells = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&cells_path)
            .map_err(io(&cells_path))?;
        let codeword_bytes = u64::from(identity.shape.codeword_bytes);
        cells.set_len(u64::from(identity.shape.slots()) * codeword_bytes).map_err(io(&cells_path))?;
        let journal = Self::begin(folder, 0, state)?;
        // Last, so that what was begun and not ended is no image.
        let text = serde_json::to_vec_pretty(identity).expect("plain data");
        let file = replace(&folder.join("drive.json"), &[&text])?;
        Self::lock(folder, &file)?;
        Ok(Self {
            folder: folder.to_owned(),
            _identity: file,
            journal,
            journal_bytes: 0,
            batch: Vec::new(),
            checkpoint: 0,
            cells,
            cells_to_sync: true,
            codeword_bytes,
        })
    }

    /// Opens an image, and the state that its records lead to.
    ///
    /// # Errors
    /// An image that is served already, or is damaged.
    pub(crate) fn open(folder: &Path, identity: &Identity) -> Result<(Self, State)> {
        let path = folder.join("drive.json");
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io(&path))?;
        Self::lock(folder, &file)?;
        let (checkpoint, mut state) = Self::read_state(&folder.join("state.bin"))?;
        let shape = &identity.shape;
        let path = folder.join("journal.bin");
        let (journal, journal_bytes) = Self::replay(&path, checkpoint, &mut state, shape)?;
        state.check(shape).map_err(|message| damaged(&path, message))?;
        let path = folder.join("cells.bin");
        let cells = OpenOptions::new().read(true).write(true).open(&path).map_err(io(&path))?;
        let codeword_bytes = u64::from(shape.codeword_bytes);
        let (found, expected) = (cells.metadata().map_err(io(&path))?.len(), u64::from(shape.slots()) * codeword_bytes);
        if found != expected {
            return Err(damaged(&path, format!("found {found} bytes, expected {expected}")));
        }
        let mut image = Self {
            folder: folder.to_owned(),
            _identity: file,
            journal_bytes,
            batch: Vec::new(),
            checkpoint,
            cells,
            cells_to_sync: true,
            codeword_bytes,
            journal: match journal {
                Some(journal) => journal,
                None => Self::begin_journal(folder, checkpoint)?,
            },
        };
        // What was cut off is gone, and reading the same journal again takes time.
        image.checkpoint(&state)?;
        Ok((image, state))
    }

    fn lock(folder: &Path, file: &File) -> Result<()> {
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::new(
                ErrorKind::Io,
                folder.display().to_string(),
                "found an image that is being served already, expected one that is not",
            ),
            TryLockError::Error(error) => Error::io(folder, &error),
        })
    }

    fn begin(folder: &Path, checkpoint: u64, state: &State) -> Result<File> {
        let body = encode(state);
        let path = folder.join("state.bin");
        let crc = crc32fast::hash(&body).to_le_bytes();
        replace(&path, &[STATE_MAGIC, &checkpoint.to_le_bytes(), &crc, &body])?;
        Self::begin_journal(folder, checkpoint)
    }

    fn begin_journal(folder: &Path, checkpoint: u64) -> Result<File> {
        replace(&folder.join("journal.bin"), &[JOURNAL_MAGIC, &checkpoint.to_le_bytes()])
    }

    fn read_state(path: &Path) -> Result<(u64, State)> {
        let bytes = std::fs::read(path).map_err(io(path))?;
        let (Some(head), Some(body)) = (bytes.get(..20), bytes.get(20..)) else {
            return Err(damaged(path, "it ends in its head"));
        };
        if &head[..8] != STATE_MAGIC {
            return Err(damaged(path, "it does not begin as a state"));
        }
        let crc = u32::from_le_bytes(head[16..20].try_into().expect("four bytes"));
        if crc32fast::hash(body) != crc {
            return Err(damaged(path, "its checksum does not fit"));
        }
        Ok((u64::from_le_bytes(head[8..16].try_into().expect("eight bytes")), decode(path, body)?))
    }

    /// Applies the records of a journal. One that was cut off at the end is forgotten; none if the journal is an older one.
    fn replay(path: &Path, checkpoint: u64, state: &mut State, shape: &Shape) -> Result<(Option<File>, u64)> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((None, 0)),
            Err(error) => return Err(io(path)(error)),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io(path))?;
        if bytes.len() < 16 || &bytes[..8] != JOURNAL_MAGIC {
            return Err(damaged(path, "it does not begin as a journal"));
        }
        let number = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        if number != checkpoint {
            // Between a new state and its journal the drive was stopped: the state has all that this one has.
            return if number < checkpoint {
                Ok((None, 0))
            } else {
                Err(damaged(path, format!("it belongs to checkpoint {number}, and the state is of {checkpoint}")))
            };
        }
        let mut at = 16;
        while let Some(head) = bytes.get(at..at + 8) {
            let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
            let crc = u32::from_le_bytes(head[4..].try_into().expect("four bytes"));
            if length > LONGEST_RECORD {
                return Err(damaged(path, format!("at byte {at}: a record of {length} bytes")));
            }
            let Some(body) = bytes.get(at + 8..at + 8 + length) else { break };
            if crc32fast::hash(body) != crc {
                return Err(damaged(path, format!("at byte {at}: the checksum of a record does not fit")));
            }
            let record: Record = decode(path, body)?;
            state.apply(shape, &record).map_err(|what| damaged(path, format!("at byte {at}: {what}")))?;
            at += 8 + length;
        }
        Ok((Some(file), at as u64))
    }

    /// Takes note of a change.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        let body = encode(record);
        self.batch.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.batch.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        self.batch.extend_from_slice(&body);
        if self.batch.len() >= BATCH_BYTES { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let path = self.folder.join("journal.bin");
            self.journal.write_all(&self.batch).map_err(io(&path))?;
            self.journal_bytes += self.batch.len() as u64;
            self.batch.clear();
        }
        Ok(())
    }

    /// Puts everything that was noted on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if self.cells_to_sync {
            self.cells.sync_data().map_err(io(&self.folder.join("cells.bin")))?;
            self.cells_to_sync = false;
        }
        self.write_batch()?;
        self.journal.sync_data().map_err(io(&self.folder.join("journal.bin")))
    }

    /// Whether it is time for a checkpoint.
    pub(crate) fn is_long(&self) -> bool {
        self.journal_bytes > JOURNAL_BYTES
    }

    /// Writes the whole state, and begins a new journal.
    pub(crate) fn checkpoint(&mut self, state: &State) -> Result<()> {
        self.sync()?;
        self.checkpoint += 1;
        self.journal = Self::begin(&self.folder, self.checkpoint, state)?;
        self.journal_bytes = 0;
        Ok(())
    }

    /// Writes codewords from a slot on.
    pub(crate) fn program(&mut self, slot: u32, codewords: &[u8]) -> Result<()> {
        self.cells_to_sync = true;
        let at = u64::from(slot) * self.codeword_bytes;
        self.cells.write_all_at(codewords, at).map_err(io(&self.folder.join("cells.bin")))
    }

    /// Reads codewords from a slot on.
    pub(crate) fn sense(&self, slot: u32, codewords: &mut [u8]) -> Result<()> {
        let at = u64::from(slot) * self.codeword_bytes;
        self.cells.read_exact_at(codewords, at).map_err(io(&self.folder.join("cells.bin")))
    }

    /// Gives back the room of some slots, where the file system can.
    pub(crate) fn erase(&mut self, slot: u32, slots: u32) {
        let (at, length) = (u64::from(slot) * self.codeword_bytes, u64::from(slots) * self.codeword_bytes);
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            // What is not given back is written over: nothing depends on it.
            let _ = fallocate(&self.cells, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, length);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, length);
    }
}
