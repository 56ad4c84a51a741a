//! Files that are written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::{Error, ErrorKind, Result};

/// The size of the largest text that is read whole. The largest known text is a hundredth of it. A device may have no end.
const MOST_TEXT_BYTES: u64 = 1 << 28;

/// Reads the text of a file, or of a pipe.
///
/// # Errors
/// The error of the system; text that is not UTF-8; more than 256 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_TEXT_BYTES + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => io::Error::other("found bytes that are not UTF-8, expected text"),
        _ => error,
    })?;
    if text.len() as u64 > MOST_TEXT_BYTES {
        return Err(io::Error::other("found more than 256 MiB, expected a text file"));
    }
    Ok(text)
}

/// An unfinished file. It is a temporary file, with a name that nobody else can know, beside the file that it becomes when it is
/// finished. If it is dropped before, it is removed, and the old file stays. The next process that writes a file there removes the files
/// that a killed process left.
#[derive(Debug)]
pub struct UnfinishedFile {
    temporary: TempPath,
    whole: PathBuf,
}

impl UnfinishedFile {
    /// Creates the temporary file for `whole`, or for the target if `whole` is a symbolic link. Returns the file, open for writing, too.
    ///
    /// # Errors
    /// If `whole` is a directory, a device, a pipe or a socket, or nothing can be written beside it.
    pub fn create(whole: &Path) -> Result<(Self, File)> {
        let refused = |error: &io::Error| Error::io(whole, error);
        let is_link = fs::symlink_metadata(whole).is_ok_and(|found| found.is_symlink());
        let target = if is_link { fs::canonicalize(whole).map_err(|error| refused(&error))? } else { whole.to_owned() };
        let before = fs::metadata(&target).ok();
        if let Some(found) = before.as_ref().filter(|found| !found.is_file()) {
            let what = if found.is_dir() { "a directory" } else { "a device, a pipe or a socket" };
            let message = format!("found {what}, expected the path of a file that can be written");
            return Err(Error::new(ErrorKind::Io, whole.display().to_string(), message));
        }
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let place = Place::here();
        place.remove_leftovers(directory);
        let prefix = place.prefix(std::process::id());
        let mut suffix = OsString::new();
        if let Some(extension) = target.extension() {
            suffix.push(".");
            suffix.push(extension);
        }
        // Errors are made here, because the library's own errors name the temporary file.
        let made = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&suffix)
            .make_in(directory, |temporary| File::options().read(true).write(true).create_new(true).open(temporary));
        let (file, temporary) = made.map_err(|error| refused(&error))?.into_parts();
        if let Some(found) = before {
            file.set_permissions(found.permissions()).map_err(|error| refused(&error))?;
        }
        Ok((Self { temporary, whole: target }, file))
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its final name, when its content is on disk.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<()> {
        let Self { temporary, whole } = self;
        File::open(&temporary).and_then(|file| file.sync_all()).map_err(|error| Error::io(&whole, &error))?;
        temporary.persist(&whole).map_err(|refused| Error::io(&whole, &refused.error))
    }
}

/// A system that numbers its processes by itself. Files of its processes that have ended may be removed. Nothing is known of the
/// processes of other systems, which may share a folder.
struct Place(Option<u32>);

impl Place {
    fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let numbers = fs::read_link("/proc/self/ns/pid").ok();
        Self(boot.zip(numbers).map(|both| {
            let mut hasher = DefaultHasher::new();
            both.hash(&mut hasher);
            hasher.finish() as u32
        }))
    }

    fn prefix(&self, process: u32) -> String {
        format!(".softsense-{:08x}-{process}-", self.0.unwrap_or(0))
    }

    fn remove_leftovers(&self, directory: &Path) {
        let (Some(place), Ok(entries)) = (self.0, fs::read_dir(directory)) else { return };
        let prefix = format!(".softsense-{place:08x}-");
        for entry in entries.flatten() {
            let name = entry.file_name();
            let process =
                name.to_str().and_then(|name| name.strip_prefix(&prefix)?.split('-').next()?.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
                // The removal may fail, as another process may have been faster. A folder holds parts of a file.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join(format!("{}.csv", "n".repeat(250)));
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (unfinished, mut file) = UnfinishedFile::create(&whole).unwrap();
        file.write_all(b"one").unwrap();
        assert!(!whole.exists() && unfinished.path().extension() == whole.extension());
        unfinished.finish().unwrap();
        assert_eq!((fs::read(&whole).unwrap(), names()), (b"one".to_vec(), 1));
        let (given_up, mut file) = UnfinishedFile::create(&whole).unwrap();
        file.write_all(b"two").unwrap();
        drop(given_up);
        assert_eq!((fs::read(&whole).unwrap(), names()), (b"one".to_vec(), 1));
    }

    /// Is a file of another process of this system removed if the process has ended, and only then?
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        let place = Place::here();
        let elsewhere = Place(Some(place.0.unwrap() ^ 1));
        let left =
            [place.prefix(gone), place.prefix(std::process::id()), elsewhere.prefix(gone), ".other-".to_string()];
        for prefix in &left {
            fs::write(folder.path().join(format!("{prefix}x")), "").unwrap();
        }
        fs::create_dir(folder.path().join(format!("{}parts", left[0]))).unwrap();
        UnfinishedFile::create(&folder.path().join("a")).unwrap();
        assert!(!folder.path().join(format!("{}parts", left[0])).exists());
        let stayed = left.map(|prefix| folder.path().join(format!("{prefix}x")).exists());
        assert_eq!(stayed, [false, true, true, true]);
    }

    /// Does a link stay a link, and is a path that is not a file refused?
    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        let (unfinished, mut writer) = UnfinishedFile::create(&link).unwrap();
        writer.write_all(b"new").unwrap();
        unfinished.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        for refused in [Path::new("/dev/null"), folder.path()] {
            let error = UnfinishedFile::create(refused).unwrap_err().to_string();
            assert!(error.contains("expected the path of a file that can be written"), "{error}");
        }
    }

    /// Does a refusal name only the file that was asked for?
    #[test]
    fn a_folder_that_is_not_there_is_told_by_the_name_that_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none").join("file");
        let error = UnfinishedFile::create(&file).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
        assert!(!error.contains(".softsense-"), "{error}");
    }
}
