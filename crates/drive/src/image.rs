//! The folder of a drive: its shape, its state, and the codewords that its cells were programmed with.
//!
//! ```text
//!   drive.json     shape, config, seed: never changed; locked while the drive is served
//!   state.bin      the state at a checkpoint, with its number and a checksum
//!   journal.bin    records since the checkpoint, each with a checksum, under the checkpoint's number
//!   cells.bin      codewords as they were programmed, slot by slot; erased superblocks are holes
//! ```
//!
//! Codewords are written to `cells.bin` before the record that says so. A superblock is erased only after the records that moved its
//! data are on the disk. So wherever the journal is cut off, it gives a state that the drive was in.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind as Kind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Result};

use crate::Shape;
use crate::state::{Record, State};

const FORMAT: &str = "softsense drive, version 2";
const STATE_MAGIC: &[u8; 8] = b"ssstate1";
const JOURNAL_MAGIC: &[u8; 8] = b"ssjourn1";
/// The length of a journal beyond which a checkpoint replaces it, bytes.
const JOURNAL_BYTES: u64 = 64 << 20;
/// The bytes of records that are collected before they are handed to the operating system.
const BATCH_BYTES: usize = 1 << 16;
/// The longest record, bytes.
const LONGEST_RECORD: usize = 1 << 28;
/// The longest identity, bytes; so no config is longer.
const LONGEST_IDENTITY_BYTES: u64 = 64 << 20;
/// The size of the head of a journal, bytes.
const JOURNAL_HEAD_BYTES: u64 = 16;

/// The identity of a drive, which never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    format: String,
    /// The shape of the drive.
    pub shape: Shape,
    /// The resolved config, as TOML.
    pub config: String,
    /// The directory to which relative paths of the config refer.
    pub directory: PathBuf,
    /// The seed of cells.
    pub seed: u64,
}

impl Identity {
    pub(crate) fn new(shape: Shape, config: String, directory: PathBuf, seed: u64) -> Self {
        Self { format: FORMAT.into(), shape, config, directory, seed }
    }
}

/// The reason why data is not in the image.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The disk that holds the image has no room. No data is lost, and the write is tried again.
    Full(Error),
    /// A write has failed in a way that leaves the content of the disk unknown. Nothing more is written.
    Failed(Error),
}

type Written = std::result::Result<(), Unwritten>;

/// An open image.
#[derive(Debug)]
pub(crate) struct Image {
    folder: Folder,
    /// The open file of the identity, which holds the lock.
    _identity: File,
    journal: File,
    /// The offset of the next record in the journal, bytes. The remains of a write that found no room lie behind it, and are
    /// overwritten.
    journal_end: u64,
    /// The length of the journal at which a checkpoint replaces it, bytes.
    checkpoint_at: u64,
    /// Records that the operating system does not have yet. The drive's state includes them, so that state and image stay one, whatever
    /// fails.
    batch: Vec<u8>,
    checkpoint: u64,
    cells: File,
    cells_to_sync: bool,
    codeword_bytes: u64,
    /// The error of the last write that found no room; none once there is room.
    full: Option<Error>,
    /// Offset and length of the codewords that found no room in `cells.bin`, bytes.
    wanted: Option<(u64, u64)>,
    failed: Option<Error>,
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

fn has_no_room(error: &std::io::Error) -> bool {
    matches!(error.kind(), Kind::StorageFull | Kind::QuotaExceeded)
}

/// A folder that is held open: its files are found wherever it is moved, and nobody can replace them by its path. Files are made for the
/// user alone.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    held: File,
}

impl Folder {
    fn open(path: &Path) -> Result<Option<Self>> {
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(held) => Ok(Some(Self { path: path.to_owned(), held: held.into() })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(io(path)(error.into())),
        }
    }

    /// Opens a file, if it exists. Only a plain file is opened: a pipe would wait for ever, a device may do anything, and a link leads
    /// out of the folder. A file that others can read, as earlier versions made them, is closed to them where possible.
    fn file(&self, name: &str, access: OFlags) -> Result<Option<File>> {
        let path = self.path.join(name);
        let failed = |error: Errno| io(&path)(error.into());
        match rustix::fs::statat(&self.held, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => expect_plain(&path, &found)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.held, name, flags, Mode::empty()).map_err(failed)?;
        let found = rustix::fs::fstat(&file).map_err(failed)?;
        // Another file may have been put there since.
        expect_plain(&path, &found)?;
        if Mode::from_raw_mode(found.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            let _ = rustix::fs::fchmod(&file, OWNER_ONLY);
        }
        Ok(Some(file.into()))
    }

    /// Opens a file that must exist.
    fn expect(&self, name: &str, access: OFlags) -> Result<File> {
        self.file(name, access)?.ok_or_else(|| self.error(name)(Errno::NOENT.into()))
    }

    /// Makes a file, in place of any that an earlier attempt has left.
    fn create(&self, name: &str) -> std::io::Result<File> {
        let _ = rustix::fs::unlinkat(&self.held, name, AtFlags::empty());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.held, name, flags, OWNER_ONLY)?.into())
    }

    /// Makes a file that is wholly on the disk, or none.
    fn create_whole(&self, name: &str, parts: &[&[u8]]) -> std::io::Result<File> {
        let written = self.create(name).and_then(|mut file| {
            parts.iter().try_for_each(|part| file.write_all(part))?;
            file.sync_all()?;
            Ok(file)
        });
        if written.is_err() {
            self.remove(name);
        }
        written
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        Ok(rustix::fs::renameat(&self.held, from, &self.held, to)?)
    }

    fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.held, name, AtFlags::empty());
    }

    fn sync(&self) -> std::io::Result<()> {
        self.held.sync_all()
    }

    fn error(&self, name: &str) -> impl Fn(std::io::Error) -> Error + '_ {
        let path = self.path.join(name);
        move |error| Error::io(&path, &error)
    }
}

const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);

fn expect_plain(path: &Path, found: &Stat) -> Result<()> {
    let found = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    let message =
        format!("found {found}, expected a regular file: the files of an image are no links, folders or devices");
    Err(Error::new(ErrorKind::Io, path.display().to_string(), message))
}

impl Image {
    /// The identity of the drive in a folder; `None` if there is no folder, or it is empty.
    ///
    /// # Errors
    /// When the folder holds something else.
    pub(crate) fn identity(path: &Path) -> Result<Option<Identity>> {
        let Some(folder) = Folder::open(path)? else { return Ok(None) };
        let Some(file) = folder.file("drive.json", OFlags::RDONLY)? else {
            let empty = std::fs::read_dir(path).map_err(io(path))?.next().is_none();
            let message =
                "found a folder with other files in it, expected the image of a drive, or a new or empty folder";
            return if empty { Ok(None) } else { Err(Error::new(ErrorKind::Io, path.display().to_string(), message)) };
        };
        let path = path.join("drive.json");
        let mut text = Vec::new();
        file.take(LONGEST_IDENTITY_BYTES).read_to_end(&mut text).map_err(io(&path))?;
        let identity: Identity = serde_json::from_slice(&text).map_err(|error| damaged(&path, error))?;
        if identity.format != FORMAT {
            let message = format!(
                "found format `{}`, expected `{FORMAT}`: another version of softsense made this image; copy the \
                 data out with that version",
                identity.format
            );
            return Err(Error::new(ErrorKind::Io, path.display().to_string(), message));
        }
        Ok(Some(identity))
    }

    /// Makes an image, wholly or not at all. A new folder is for the user alone. The mode of an existing folder is its owner's choice,
    /// and stays.
    pub(crate) fn create(path: &Path, identity: &Identity, state: &State) -> Result<Self> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(io(parent))?;
        }
        let made = match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(error) if error.kind() == Kind::AlreadyExists => false,
            Err(error) => return Err(io(path)(error)),
        };
        let folder = Folder::open(path)?.ok_or_else(|| io(path)(Errno::NOENT.into()))?;
        let held = folder.held.try_clone().map_err(io(path))?;
        let created = Self::create_in(folder, identity, state);
        if created.is_err() {
            let folder = Folder { path: path.to_owned(), held };
            for file in ["cells.bin", "state.bin", "state.new", "journal.bin", "journal.new", "drive.new"] {
                folder.remove(file);
            }
            if made {
                let _ = std::fs::remove_dir(path);
            }
        }
        created
    }

    fn create_in(folder: Folder, identity: &Identity, state: &State) -> Result<Self> {
        let codeword_bytes = u64::from(identity.shape.codeword_bytes);
        let cells = folder.create("cells.bin").map_err(folder.error("cells.bin"))?;
        let length = u64::from(identity.shape.slots()) * codeword_bytes;
        cells.set_len(length).map_err(folder.error("cells.bin"))?;
        let journal = Self::begin(&folder, 0, state)?;
        // The identity is written last, so that an image that was not completed is none.
        let text = serde_json::to_vec_pretty(identity).expect("plain data");
        let file = folder.create_whole("drive.new", &[&text]).map_err(folder.error("drive.json"))?;
        folder.rename("drive.new", "drive.json").map_err(folder.error("drive.json"))?;
        folder.sync().map_err(folder.error("drive.json"))?;
        Self::lock(&folder.path, &file)?;
        Ok(Self::new(folder, file, (journal, JOURNAL_HEAD_BYTES), 0, cells, codeword_bytes))
    }

    fn new(
        folder: Folder,
        identity: File,
        (journal, journal_end): (File, u64),
        checkpoint: u64,
        cells: File,
        codeword_bytes: u64,
    ) -> Self {
        Self {
            folder,
            _identity: identity,
            journal,
            journal_end,
            checkpoint_at: JOURNAL_BYTES,
            batch: Vec::new(),
            checkpoint,
            cells,
            cells_to_sync: true,
            codeword_bytes,
            full: None,
            wanted: None,
            failed: None,
        }
    }

    /// Opens an image, and computes the state that its records lead to.
    ///
    /// # Errors
    /// An image that is being served, or is damaged.
    pub(crate) fn open(path: &Path, identity: &Identity) -> Result<(Self, State)> {
        let folder = Folder::open(path)?.ok_or_else(|| io(path)(Errno::NOENT.into()))?;
        let file = folder.expect("drive.json", OFlags::RDWR)?;
        Self::lock(path, &file)?;
        let shape = &identity.shape;
        let (checkpoint, mut state) = Self::read_state(&folder)?;
        state.check(shape).map_err(|message| damaged(&path.join("state.bin"), message))?;
        let journal = match Self::replay(&folder, checkpoint, &mut state, shape)? {
            Some(journal) => journal,
            None => (Self::begin_journal(&folder, checkpoint)?, JOURNAL_HEAD_BYTES),
        };
        state.check(shape).map_err(|message| damaged(&path.join("journal.bin"), message))?;
        let cells = folder.expect("cells.bin", OFlags::RDWR)?;
        let path = path.join("cells.bin");
        let codeword_bytes = u64::from(shape.codeword_bytes);
        let (found, expected) = (cells.metadata().map_err(io(&path))?.len(), u64::from(shape.slots()) * codeword_bytes);
        if found != expected {
            return Err(damaged(&path, format!("found {found} bytes, expected {expected}")));
        }
        let mut image = Self::new(folder, file, journal, checkpoint, cells, codeword_bytes);
        // With a new checkpoint the same journal need not be read again, which takes time.
        match image.checkpoint(&state) {
            Ok(()) | Err(Unwritten::Full(_)) => Ok((image, state)),
            Err(Unwritten::Failed(error)) => Err(error),
        }
    }

    fn lock(folder: &Path, file: &File) -> Result<()> {
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::new(
                ErrorKind::Io,
                folder.display().to_string(),
                "found an image that another process serves, expected one that is not in use: end that `softsense \
                 drive serve`, or name another folder by --image",
            ),
            TryLockError::Error(error) => Error::io(folder, &error),
        })
    }

    /// Begins a checkpoint and its journal.
    fn begin(folder: &Folder, checkpoint: u64, state: &State) -> Result<File> {
        let journal = Self::prepare(folder, checkpoint, state).map_err(folder.error("state.bin"))?;
        Self::put_in_place(folder).map_err(folder.error("state.bin"))?;
        Ok(journal)
    }

    /// Writes both files of a checkpoint beside those that they will replace: where there is no room for them, nothing has changed.
    fn prepare(folder: &Folder, checkpoint: u64, state: &State) -> std::io::Result<File> {
        let body = encode(state);
        let crc = crc32fast::hash(&body).to_le_bytes();
        folder.create_whole("state.new", &[STATE_MAGIC, &checkpoint.to_le_bytes(), &crc, &body])?;
        let journal = folder.create_whole("journal.new", &[JOURNAL_MAGIC, &checkpoint.to_le_bytes()]);
        if journal.is_err() {
            folder.remove("state.new");
        }
        journal
    }

    fn put_in_place(folder: &Folder) -> std::io::Result<()> {
        folder.rename("state.new", "state.bin")?;
        folder.rename("journal.new", "journal.bin")?;
        folder.sync()
    }

    fn begin_journal(folder: &Folder, checkpoint: u64) -> Result<File> {
        let made = folder.create_whole("journal.new", &[JOURNAL_MAGIC, &checkpoint.to_le_bytes()]);
        let made = made.map_err(folder.error("journal.bin"))?;
        folder
            .rename("journal.new", "journal.bin")
            .and_then(|()| folder.sync())
            .map_err(folder.error("journal.bin"))?;
        Ok(made)
    }

    fn read_state(folder: &Folder) -> Result<(u64, State)> {
        let path = &folder.path.join("state.bin");
        let mut bytes = Vec::new();
        folder.expect("state.bin", OFlags::RDONLY)?.read_to_end(&mut bytes).map_err(io(path))?;
        let (Some(head), Some(body)) = (bytes.get(..20), bytes.get(20..)) else {
            return Err(damaged(path, "the file is shorter than its header"));
        };
        if &head[..8] != STATE_MAGIC {
            return Err(damaged(path, "the header is not that of a state file"));
        }
        let crc = u32::from_le_bytes(head[16..20].try_into().expect("four bytes"));
        if crc32fast::hash(body) != crc {
            return Err(damaged(path, "the checksum does not match the content"));
        }
        Ok((u64::from_le_bytes(head[8..16].try_into().expect("eight bytes")), decode(path, body)?))
    }

    /// Applies the records of a journal. A record that is cut off at the end is dropped. `None` if there is no journal, or one of an
    /// older checkpoint.
    fn replay(folder: &Folder, checkpoint: u64, state: &mut State, shape: &Shape) -> Result<Option<(File, u64)>> {
        let path = &folder.path.join("journal.bin");
        let Some(mut file) = folder.file("journal.bin", OFlags::RDWR)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io(path))?;
        if bytes.len() < 16 || &bytes[..8] != JOURNAL_MAGIC {
            return Err(damaged(path, "the header is not that of a journal"));
        }
        let number = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        if number != checkpoint {
            // The drive was stopped between a new state and its journal: the state includes all records of this one.
            return if number < checkpoint {
                Ok(None)
            } else {
                Err(damaged(
                    path,
                    format!(
                        "the journal belongs to checkpoint {number}, and the state file to checkpoint {checkpoint}"
                    ),
                ))
            };
        }
        let mut at = 16;
        while let Some(head) = bytes.get(at..at + 8) {
            let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
            let crc = u32::from_le_bytes(head[4..].try_into().expect("four bytes"));
            if length > LONGEST_RECORD {
                return Err(damaged(
                    path,
                    format!("at byte {at}: found a record of {length} bytes, expected at most {LONGEST_RECORD}"),
                ));
            }
            let Some(body) = bytes.get(at + 8..at + 8 + length) else { break };
            if crc32fast::hash(body) != crc {
                return Err(damaged(
                    path,
                    format!("at byte {at}: the checksum does not match the content of the record"),
                ));
            }
            let record: Record = decode(path, body)?;
            state.apply(shape, &record).map_err(|what| damaged(path, format!("at byte {at}: {what}")))?;
            at += 8 + length;
        }
        // The cut-off record is removed, so that none follows it.
        file.set_len(at as u64).map_err(io(path))?;
        Ok(Some((file, at as u64)))
    }

    /// Notes a change. A record that cannot be written now is written with those that follow, or [`sync`](Self::sync) says why not.
    pub(crate) fn append(&mut self, record: &Record) {
        let body = encode(record);
        self.batch.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.batch.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        self.batch.extend_from_slice(&body);
        if self.batch.len() >= BATCH_BYTES {
            self.hand_over();
        }
    }

    /// Hands the noted records to the operating system, where that is possible: from then on they outlive this process.
    pub(crate) fn hand_over(&mut self) {
        if self.full.is_none() {
            let _ = self.write_batch();
        }
    }

    fn write_batch(&mut self) -> Written {
        if self.batch.is_empty() {
            return Ok(());
        }
        let written = self.journal.write_all_at(&self.batch, self.journal_end);
        if written.is_err() {
            let _ = self.journal.set_len(self.journal_end);
        }
        self.wrote("journal.bin", written)?;
        self.journal_end += self.batch.len() as u64;
        self.batch.clear();
        Ok(())
    }

    /// Sorts the result of a write: one that found no room can be tried again.
    fn wrote(&mut self, name: &str, written: std::io::Result<()>) -> Written {
        match written {
            Ok(()) => {
                self.full = None;
                Ok(())
            }
            Err(error) if has_no_room(&error) => {
                let path = self.folder.path.join(name).display().to_string();
                let message = "found no free space on the disk that holds the image, expected some: free space on \
                               that disk, and the drive accepts writes again; data that is written stays readable";
                let error = Error::new(ErrorKind::Io, path, message);
                self.full = Some(error.clone());
                Err(Unwritten::Full(error))
            }
            Err(error) => self.fail(name, &error),
        }
    }

    fn fail(&mut self, name: &str, error: &std::io::Error) -> Written {
        let error = self.failed.get_or_insert_with(|| Error::io(self.folder.path.join(name), error));
        Err(Unwritten::Failed(error.clone()))
    }

    /// Checks that there is room for more, after a new attempt at what found none.
    pub(crate) fn ready(&mut self) -> Written {
        if let Some(error) = &self.failed {
            return Err(Unwritten::Failed(error.clone()));
        }
        if self.full.is_none() {
            return Ok(());
        }
        self.write_batch()?;
        #[cfg(target_os = "linux")]
        if let Some((at, length)) = self.wanted {
            use rustix::fs::{FallocateFlags, fallocate};
            let room = fallocate(&self.cells, FallocateFlags::KEEP_SIZE, at, length).map_err(std::io::Error::from);
            // On systems that cannot reserve room, the next write finds out.
            self.wrote("cells.bin", room.or_else(|error| if has_no_room(&error) { Err(error) } else { Ok(()) }))?;
        }
        (self.full, self.wanted) = (None, None);
        Ok(())
    }

    /// The last error with the image, and whether it is final: lack of room is not.
    pub(crate) fn trouble(&self) -> Option<(&Error, bool)> {
        self.failed.as_ref().map(|error| (error, true)).or(self.full.as_ref().map(|error| (error, false)))
    }

    /// Puts all noted records on the disk.
    pub(crate) fn sync(&mut self) -> Written {
        self.ready()?;
        if self.cells_to_sync {
            self.sync_file("cells.bin", |image| &image.cells)?;
            self.cells_to_sync = false;
        }
        self.write_batch()?;
        self.sync_file("journal.bin", |image| &image.journal)
    }

    /// Syncs a file. After a failure the content of the disk is unknown, so a sync is not tried again.
    fn sync_file(&mut self, name: &str, file: impl Fn(&Self) -> &File) -> Written {
        let file = file(self);
        let synced = file.sync_data().and_then(|()| file.metadata());
        match synced {
            Ok(found) if found.nlink() == 0 => {
                let message = "found that the file was removed, expected the file of the image that is served: end \
                               the drive and start it again";
                let error = Error::new(ErrorKind::Io, self.folder.path.join(name).display().to_string(), message);
                Err(Unwritten::Failed(self.failed.insert(error).clone()))
            }
            Ok(_) => Ok(()),
            Err(error) => self.fail(name, &error),
        }
    }

    /// Whether it is time for a checkpoint.
    pub(crate) fn is_long(&self) -> bool {
        self.journal_end > self.checkpoint_at
    }

    /// Writes the whole state, and begins a new journal. Where there is no room for that, the old journal has every record, and grows.
    pub(crate) fn checkpoint(&mut self, state: &State) -> Written {
        self.sync()?;
        let prepared = Self::prepare(&self.folder, self.checkpoint + 1, state);
        let (prepared, journal) = prepared.map_or_else(|error| (Err(error), None), |journal| (Ok(()), Some(journal)));
        self.checkpoint_at = self.journal_end + JOURNAL_BYTES;
        self.wrote("state.bin", prepared)?;
        if let Err(error) = Self::put_in_place(&self.folder) {
            return self.fail("state.bin", &error);
        }
        self.journal = journal.expect("it was made");
        self.checkpoint += 1;
        (self.journal_end, self.checkpoint_at) = (JOURNAL_HEAD_BYTES, JOURNAL_BYTES);
        Ok(())
    }

    /// Writes codewords from a slot on.
    pub(crate) fn program(&mut self, slot: u32, codewords: &[u8]) -> Written {
        self.cells_to_sync = true;
        let at = u64::from(slot) * self.codeword_bytes;
        let written = self.cells.write_all_at(codewords, at);
        self.wanted = written.is_err().then_some((at, codewords.len() as u64));
        self.wrote("cells.bin", written)
    }

    /// Reads codewords from a slot on.
    pub(crate) fn sense(&self, slot: u32, codewords: &mut [u8]) -> Result<()> {
        let at = u64::from(slot) * self.codeword_bytes;
        self.cells.read_exact_at(codewords, at).map_err(self.folder.error("cells.bin"))
    }

    /// Gives the disk space of some slots back to the file system, where it supports that.
    pub(crate) fn erase(&mut self, slot: u32, slots: u32) {
        let (at, length) = (u64::from(slot) * self.codeword_bytes, u64::from(slots) * self.codeword_bytes);
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            // A failure does not matter: the old bytes are overwritten later.
            let _ = fallocate(&self.cells, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, length);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, length);
    }
}
