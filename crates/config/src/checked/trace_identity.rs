//! The content of the files that tenants replay, as a part of a run's identity: a trace that has changed under its name makes another run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// A file that was read: its length, the time of its last change, and its digest.
type Known = (u64, SystemTime, String);

/// Files that were read, as a sweep asks for the same files at each of its points.
static KNOWN: LazyLock<Mutex<BTreeMap<PathBuf, Known>>> = LazyLock::new(Mutex::default);

/// Returns the SHA-256 of the content of a file; `None` for a path without a readable file, which is an error when it is replayed.
pub(super) fn content(path: &Path) -> Option<String> {
    let about = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let (length, changed) = (about.len(), about.modified().ok()?);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, _, digest)) = known.get(path).filter(|(l, c, _)| (*l, *c) == (length, changed)) {
        return Some(digest.clone());
    }
    let (mut file, mut hasher, mut block) = (File::open(path).ok()?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block).ok()? {
            0 => break,
            read => hasher.update(&block[..read]),
        }
    }
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    known.insert(path.to_owned(), (length, changed, digest.clone()));
    Some(digest)
}
