use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The text behind a name, which is that of a shipped thing or a path relative to `directory`. The second value says for messages where
/// the text is from.
///
/// # Errors
/// An error of `kind` if there is no such file; it names `what` was expected, and the shipped things.
pub fn shipped_or_file<'a>(
    shipped: &[(&'a str, &'a str)],
    name_or_path: &str,
    directory: &Path,
    kind: ErrorKind,
    what: &str,
) -> Result<(Cow<'a, str>, String)> {
    let names = || shipped.iter().map(|(name, _)| *name);
    let canonical = crate::canonical(name_or_path, names(), directory);
    if let Some((name, text)) = shipped.iter().find(|(name, _)| *name == canonical) {
        return Ok(((*text).into(), (*name).into()));
    }
    let path = directory.join(name_or_path);
    let text = crate::read_text(&path).map_err(|error| {
        let mut names: Vec<_> = names().collect();
        // The name that was probably meant stands first.
        names.sort_by_key(|name| crate::distance(name_or_path, name));
        let said = said(&error);
        let message = format!("{said}; expected {what}, or one of the shipped: {}", names.join(", "));
        Error::new(kind, path.display().to_string(), message)
    })?;
    Ok((text.into(), path.display().to_string()))
}

/// The kind of input that was bad. A broken invariant of softsense itself has no kind: it panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A configuration field, or a combination of fields that cannot be built.
    Config,
    /// A trace file, one of its lines, or a trace that does not fit the device.
    Trace,
    /// A decode table.
    Table,
    /// A code: the file of a parity-check matrix, its parameters, or a word that does not fit it.
    Code,
    /// The operating system refused to read or write a file.
    Io,
    /// Code of the user's own has failed. Its error is the source of this error.
    Own,
}

/// Bad input: the place (config path, or file and line), what was found and what was expected. It may be one of several faults that were
/// found together: see [`Faults`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    place: String,
    message: String,
    source: Option<OwnError>,
    others: Vec<Error>,
    /// The number of further faults, which are counted and not told.
    untold: usize,
}

/// The error of a user's own code. Two are equal if they are the same object.
#[derive(Debug, Clone)]
struct OwnError(Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for OwnError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnError {}

/// The result of everything that reads input.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` at `place` (such as `ftl.over_provisioning` or `hm_0.csv:17`).
    pub fn new(kind: ErrorKind, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, place: place.into(), message: message.into(), source: None, others: Vec::new(), untold: 0 }
    }

    /// An error of a user's own code, called `name`.
    pub fn own(name: impl Into<String>, said: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = said.to_string();
        Self { source: Some(OwnError(Arc::new(said))), ..Self::new(ErrorKind::Own, name, message) }
    }

    /// A configuration error at a config path.
    pub fn config(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, path, message)
    }

    /// A trace error at a file, or a file and line.
    pub fn trace(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Trace, place, message)
    }

    /// A decode-table error at a file, or a file and field.
    pub fn table(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Table, place, message)
    }

    /// An error of a code, at a file and line, or at the part of the code that is wrong.
    pub fn code(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Code, place, message)
    }

    /// A file that could not be read or written.
    pub fn io(path: impl AsRef<std::path::Path>, error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io, path.as_ref().display().to_string(), said(error))
    }

    /// The kind of input that was bad.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The place of the fault: a config path, or a file and line.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The description of the fault: what was found and what was expected.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Iterates over the faults that are told, each by itself.
    pub fn faults(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(&self.others)
    }

    /// Returns this error with another message.
    #[must_use]
    pub(crate) fn with_message(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// Returns the same faults, each as `change` makes it.
    #[must_use]
    pub fn each(self, mut change: impl FnMut(Error) -> Error) -> Self {
        let mut faults = Faults::default();
        faults.add_untold(self.untold);
        self.apart().into_iter().for_each(|fault| faults.add(change(fault)));
        faults.end().expect_err("there is at least one fault")
    }

    /// Tells whether the first fault of both errors is the same.
    fn is(&self, other: &Self) -> bool {
        (self.kind, &self.place, &self.message) == (other.kind, &other.place, &other.message)
    }

    /// Splits the error into all of its faults.
    fn apart(mut self) -> Vec<Error> {
        self.untold = 0;
        let others = std::mem::take(&mut self.others);
        std::iter::once(self).chain(others).collect()
    }
}

impl fmt::Display for Error {
    /// Writes a line for each fault, and a line that counts the faults that are not told. Of a text that is too long, the middle is left
    /// out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", shortened(&self.place, LONGEST_PLACE))?;
        }
        f.write_str(&shortened(&self.message, LONGEST_MESSAGE))?;
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))?;
        match self.untold {
            0 => Ok(()),
            untold => write!(f, "\nand {untold} more"),
        }
    }
}

/// The largest number of faults of an input that are told. A file with more is no config with mistakes; the others are counted.
pub const MOST_TOLD: usize = 20;

/// The most characters of a place, and of a message, which may list some hundred names.
const LONGEST_PLACE: usize = 300;
const LONGEST_MESSAGE: usize = 5000;

/// Returns a text without its middle, if it is longer than `most` characters.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.into();
    }
    let head = text.char_indices().nth(most / 2).map_or(0, |(at, _)| at);
    let tail = text.char_indices().nth_back(most / 2).map_or(0, |(at, _)| at);
    format!("{}...{}", &text[..head], &text[tail..]).into()
}

/// All faults of an input, so that its author hears of everything at once: the first [`MOST_TOLD`] faults, and the number of others.
///
/// Each part is checked by itself. A check that only makes sense where others have passed asks [`Faults::none`] before.
#[derive(Debug, Default)]
pub struct Faults {
    error: Option<Error>,
    untold: usize,
}

impl Faults {
    /// Adds a fault, or several that were found together. A fault that is known is not told twice.
    pub fn add(&mut self, error: Error) {
        self.add_untold(error.untold);
        for fault in error.apart() {
            match &mut self.error {
                None => self.error = Some(fault),
                Some(first) if first.is(&fault) || first.others.iter().any(|other| other.is(&fault)) => {}
                Some(first) if first.others.len() + 1 < MOST_TOLD => first.others.push(fault),
                Some(_) => self.untold += 1,
            }
        }
    }

    /// Counts faults that are not told, because others of their kind are.
    pub fn add_untold(&mut self, count: usize) {
        self.untold += count;
    }

    /// The number of faults that can still be told.
    pub fn room(&self) -> usize {
        MOST_TOLD - self.error.as_ref().map_or(0, |first| first.others.len() + 1)
    }

    /// Adds the fault of a result, or returns its value.
    pub fn see<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Tells whether no fault has been found so far.
    pub fn none(&self) -> bool {
        self.error.is_none()
    }

    /// Returns all faults as one error, of the kind of the first fault.
    ///
    /// # Errors
    /// If there is a fault.
    pub fn end(self) -> Result<()> {
        let untold = self.untold;
        self.error.map_or(Ok(()), |error| Err(Error { untold, ..error }))
    }

    /// Returns `value` if no fault was found.
    ///
    /// # Errors
    /// If there is a fault.
    ///
    /// # Panics
    /// If there is neither a fault nor a value.
    pub fn end_with<T>(self, value: Option<T>) -> Result<T> {
        self.end().map(|()| value.expect("what has no fault has a value"))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|OwnError(said)| &**said as _)
    }
}

/// The message of the operating system, without its number.
fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error().and_then(|code| text.strip_suffix(&format!(" (os error {code})"))) {
        Some(words) => words.to_owned(),
        None => text,
    }
}

/// Checks that a configuration field, at config path `path`, is a number from `low` to `high`.
pub fn expect_number(path: impl Into<String>, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::config(path, format!("found {value}, expected a number from {low} to {high}")))
}

/// Checks that a configuration field, at config path `path`, is a whole number from `low` to `high`.
pub fn expect_whole(path: impl Into<String>, value: u32, low: u32, high: u32) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::config(path, format!("found {value}, expected a whole number from {low} to {high}")))
}

/// The line of byte `at` of `text`, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is each fault told once, in the order in which it was found, and found again one by one?
    #[test]
    fn faults_are_told_together() {
        let mut faults = Faults::default();
        assert!(faults.none());
        assert_eq!(faults.see(expect_whole("a", 3, 1, 5)), Some(()));
        for (path, value) in [("a", 7), ("b", 9), ("a", 7)] {
            assert_eq!(faults.see(expect_whole(path, value, 1, 5)), None);
        }
        let error = faults.end().unwrap_err();
        let told = "a: found 7, expected a whole number from 1 to 5\nb: found 9, expected a whole number from 1 to 5";
        assert_eq!(error.to_string(), told);
        let elsewhere = error.each(|fault| Error::config(format!("x.{}", fault.place()), fault.message()));
        assert_eq!(elsewhere.to_string(), told.replace("a: ", "x.a: ").replace("b: ", "x.b: "));
        let mut more = Faults::default();
        more.add(Error::config("first", "is wrong"));
        more.add(elsewhere);
        assert_eq!(more.end().unwrap_err().to_string().lines().count(), 3);
        assert_eq!(Faults::default().end(), Ok(()));
    }

    /// Are the first twenty faults told, the others counted, and none lost between one list and another?
    #[test]
    fn what_is_too_much_is_counted() {
        let mut faults = Faults::default();
        (0..1000).for_each(|i| faults.add(Error::config(format!("f{i}"), "is wrong")));
        faults.add(Error::config("f3", "is wrong"));
        faults.add_untold(7);
        let mut outer = Faults::default();
        outer.add(Error::config("first", "is wrong"));
        outer.see(Err::<(), _>(faults.end().unwrap_err().each(|fault| fault)));
        let told = outer.end().unwrap_err().to_string();
        assert_eq!(told.lines().count(), MOST_TOLD + 1);
        assert!(told.starts_with("first: is wrong\nf0: is wrong\n"), "{told}");
        assert!(told.ends_with("f18: is wrong\nand 988 more"), "{told}");
        let long = Error::config("ä".repeat(100_000), "ö".repeat(1_000_000)).to_string();
        assert!(long.starts_with("ää") && long.ends_with("öö") && long.contains("ä...ä"), "{}", long.len());
        assert!(long.chars().count() < LONGEST_PLACE + LONGEST_MESSAGE + 20);
    }
}
