//! Shipped codes by name, and codes from files.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use softsense_base::{Error, Result, canonical, distance, read_text, spelled_like};

use crate::bch::BchCode;
use crate::bits;
use crate::ldpc::{
    LdpcCode, LdpcEncoder, Matrix, ParityCheck, QuasiCyclic, RedundantChecks, ReferenceCode, first_bits,
};

/// The prefix of the name of a code of the literature. These codes are for comparison, and no device would use them. So they are separate
/// from the shipped codes.
pub const LITERATURE: &str = "literature:";

/// A code of either family. A clone is the same code.
#[derive(Debug, Clone)]
pub enum Code {
    /// A low-density parity-check code.
    Ldpc(Arc<LdpcCode>),
    /// A Bose-Chaudhuri-Hocquenghem code.
    Bch(Arc<BchCode>),
}

/// A shipped code, which is compiled when it is first asked for.
#[derive(Debug)]
pub struct Entry {
    name: &'static str,
    description: &'static str,
    source: Source,
    compiled: OnceLock<Code>,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The text of a base matrix.
    BaseMatrix(&'static str),
    Bch(BchParameters),
}

#[derive(Debug, Clone, Copy)]
struct BchParameters {
    field_bits: u32,
    correctable: usize,
    data_bits: usize,
}

macro_rules! ldpc {
    ($name:literal, $file:literal, $description:literal) => {
        Entry {
            name: $name,
            description: $description,
            source: Source::BaseMatrix(include_str!(concat!("../codes/", $file))),
            compiled: OnceLock::new(),
        }
    };
}

const fn bch(name: &'static str, [field_bits, correctable, data_bits]: [usize; 3], description: &'static str) -> Entry {
    let parameters = BchParameters { field_bits: field_bits as u32, correctable, data_bits };
    Entry { name, description, source: Source::Bch(parameters), compiled: OnceLock::new() }
}

/// The shipped codes. LDPC codes are named after their use and rate, BCH codes after their bytes of data and the errors that they correct.
static SHIPPED: [Entry; 23] = [
    ldpc!("teaching-1/2", "teaching-1-2.qc", "LDPC, 6 B of data, (3,6)-regular: small enough to print"),
    ldpc!("flash-8/9", "flash-8-9.qc", "LDPC, 4 KB of data and 12.5 % parity, column weight 4: the default"),
    ldpc!("flash-64/73", "flash-64-73.qc", "LDPC, 4 KB of data and 14.1 % parity, column weight 4"),
    ldpc!("flash-64/71", "flash-64-71.qc", "LDPC, 4 KB of data and 10.9 % parity, column weight 4"),
    ldpc!("flash-32/35", "flash-32-35.qc", "LDPC, 4 KB of data and 9.4 % parity, column weight 4"),
    ldpc!("flash-64/69", "flash-64-69.qc", "LDPC, 4 KB of data and 7.8 % parity, column weight 4"),
    ldpc!("irregular-4/5", "irregular-4-5.qc", "LDPC, 4 KB of data and 25 % parity, column weights 8 and 3"),
    ldpc!("irregular-16/19", "irregular-16-19.qc", "LDPC, 4 KB of data and 18.8 % parity, column weights 8 and 3"),
    ldpc!("irregular-8/9", "irregular-8-9.qc", "LDPC, 4 KB of data and 12.5 % parity, column weights 8 and 3"),
    ldpc!("irregular-32/35", "irregular-32-35.qc", "LDPC, 4 KB of data and 9.4 % parity, column weights 8 and 4"),
    ldpc!("irregular-16/17", "irregular-16-17.qc", "LDPC, 4 KB of data and 6.3 % parity, column weights 8 and 4"),
    ldpc!("adaptive-5/6", "adaptive-5-6.qc", "LDPC, 13 blocks of 512 B in 8 KB, irregular"),
    ldpc!("adaptive-3/4", "adaptive-3-4.qc", "LDPC, 12 blocks of 512 B in 8 KB, irregular"),
    ldpc!("adaptive-2/3", "adaptive-2-3.qc", "LDPC, 10 blocks of 512 B in 8 KB, irregular"),
    ldpc!("adaptive-1/2", "adaptive-1-2.qc", "LDPC, 8 blocks of 512 B in 8 KB, irregular"),
    ldpc!("adaptive-1/3", "adaptive-1-3.qc", "LDPC, 5 blocks of 512 B in 8 KB"),
    ldpc!("adaptive-1/4", "adaptive-1-4.qc", "LDPC, 4 blocks of 512 B in 8 KB"),
    bch("bch-512B-t15", [13, 15, 4096], "BCH(4291, 4096), 15 errors: LAE-FTL"),
    bch("bch-1KB-t31", [14, 31, 8192], "BCH(8626, 8192), 31 errors: LAE-FTL"),
    bch("bch-2KB-t57", [15, 57, 16384], "BCH(17239, 16384), 57 errors: LAE-FTL"),
    bch("bch-4KB-t105", [16, 105, 32768], "BCH(34448, 32768), 105 errors: LAE-FTL"),
    bch("bch-4100B-t108", [16, 108, 32800], "BCH(34528, 32800), 108 errors: the baseline of LAE-FTL"),
    bch("bch-4KB-t256", [16, 256, 32768], "BCH(36856, 32768), 256 errors: as much parity as flash-8/9"),
];

impl Entry {
    /// The name, such as `flash-8/9`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A description of the code, in a line.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// The code, which is compiled at the first call.
    pub fn compile(&self) -> Code {
        self.compiled.get_or_init(|| self.source.compile(self.name)).clone()
    }
}

impl Source {
    fn compile(&self, name: &str) -> Code {
        let code = match *self {
            Self::BaseMatrix(text) => QuasiCyclic::parse(name, text)
                .and_then(|matrix| LdpcCode::new(matrix, RedundantChecks::Refuse))
                .map(|code| Code::Ldpc(Arc::new(code))),
            Self::Bch(BchParameters { field_bits, correctable, data_bits }) => {
                BchCode::new(field_bits, correctable, data_bits).map(|code| Code::Bch(Arc::new(code)))
            }
        };
        code.expect("shipped codes are valid")
    }
}

impl Code {
    /// The shipped codes: LDPC, then BCH.
    pub fn entries() -> &'static [Entry] {
        &SHIPPED
    }

    /// The names of the shipped codes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(Entry::name)
    }

    /// The shipped code of this name.
    ///
    /// # Errors
    /// An unknown name; the message lists the names, the most similar one first.
    pub fn shipped(name: &str) -> Result<Self> {
        let wanted = spelled_like(name, Self::names());
        match SHIPPED.iter().find(|entry| Some(entry.name) == wanted) {
            Some(entry) => Ok(entry.compile()),
            None => Err(unknown(name)),
        }
    }

    /// Opens the code with a name: a shipped code, any BCH code in the form `bch:m=15,t=57,k=31912`, or a code of the literature such as
    /// `literature:margulis-2640` (see [`ReferenceCode`]). A name may also be the file of an LDPC code, as alist or as a base matrix (see
    /// [`ParityCheck::parse_alist`], [`QuasiCyclic::parse`]).
    ///
    /// A file is a base matrix if it ends in `.qc` and alist if it ends in `.alist`. For any other file the first line with numbers
    /// decides: three numbers for a base matrix, two for alist.
    ///
    /// # Errors
    /// An unknown name, a file that cannot be read or is malformed (at its line), BCH parameters that do not fit, or redundant checks, if
    /// they are refused. Redundant checks of a code of the literature belong to it, and are never refused.
    pub fn open(name: &str, redundant: RedundantChecks) -> Result<Self> {
        if let Some(parameters) = name.strip_prefix("bch:") {
            let BchParameters { field_bits, correctable, data_bits } = BchParameters::parse(name, parameters)?;
            let at_name = |error: Error| Error::code(format!("{name}: {}", error.place()), error.message());
            let code = BchCode::new(field_bits, correctable, data_bits).map_err(at_name)?;
            return Ok(Self::Bch(Arc::new(code)));
        }
        if let Some(reference) = name.strip_prefix(LITERATURE) {
            let Some(code) = ReferenceCode::ALL.into_iter().find(|code| code.name() == reference) else {
                let names = ReferenceCode::ALL.map(|code| format!("{LITERATURE}{}", code.name())).join(" or ");
                return Err(Error::code(
                    name,
                    format!("found no code of the literature with this name, expected {names}"),
                ));
            };
            return Ok(Self::Ldpc(Arc::new(LdpcCode::new(code.parity_check(), RedundantChecks::Accept)?)));
        }
        let wanted = canonical(name, Self::names(), Path::new(""));
        if let Some(entry) = SHIPPED.iter().find(|entry| entry.name == wanted) {
            return Ok(entry.compile());
        }
        let path = Path::new(name);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if !path.exists() && !["alist", "qc"].contains(&extension) {
            return Err(unknown(name));
        }
        let text = read_text(path).map_err(|error| Error::io(path, &error))?;
        Self::parse(name, &text, redundant)
    }

    /// Parses the LDPC code in the text of a file called `name`; see [`Self::open`]. An alist file that is made of circulants gives the
    /// same code as its base matrix, with the same decoders and encoder.
    ///
    /// # Errors
    /// A malformed text (at its line), or redundant checks, if they are refused.
    pub fn parse(name: &str, text: &str, redundant: RedundantChecks) -> Result<Self> {
        Self::parse_by(name, text, redundant, QuasiCyclic::parse)
    }

    /// Parses as [`Self::parse`] does, but any block columns of a base matrix may be punctured. Returns the code. If block columns have
    /// another order than in the text, it also returns their numbers there ([`QuasiCyclic::parse_in_any_order`]).
    ///
    /// # Errors
    /// The errors of [`Self::parse`], and a matrix without an order of columns in which it can be encoded.
    pub fn parse_in_any_order(
        name: &str,
        text: &str,
        redundant: RedundantChecks,
    ) -> Result<(Self, Option<Vec<usize>>)> {
        let mut moved = None;
        let code = Self::parse_by(name, text, redundant, |name, text| {
            let (matrix, order) = QuasiCyclic::parse_in_any_order(name, text)?;
            moved = (!order.is_sorted()).then_some(order);
            Ok(matrix)
        })?;
        Ok((code, moved))
    }

    fn parse_by(
        name: &str,
        text: &str,
        redundant: RedundantChecks,
        parse: impl FnOnce(&str, &str) -> Result<QuasiCyclic>,
    ) -> Result<Self> {
        // Some editors begin a file with a byte-order mark.
        let text = text.trim_start_matches('\u{feff}');
        let is_base_matrix = match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("qc") => true,
            Some("alist") => false,
            _ => {
                let is_numbers = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
                let numbers = |line: &str| line.split('#').next().unwrap_or(line).split_whitespace().count();
                text.lines().find(is_numbers).is_some_and(|line| numbers(line) == 3)
            }
        };
        let matrix: Matrix = if is_base_matrix {
            parse(name, text)?.into()
        } else {
            let matrix = ParityCheck::parse_alist(name, text)?;
            QuasiCyclic::found_in(&matrix).map_or_else(|| matrix.into(), Into::into)
        };
        let code = LdpcCode::new(matrix, redundant).map_err(|error| Error::code(name, error.message()))?;
        Ok(Self::Ldpc(Arc::new(code)))
    }

    /// n: the bits of a codeword.
    pub fn codeword_bits(&self) -> usize {
        match self {
            Self::Ldpc(code) => code.codeword_bits(),
            Self::Bch(code) => code.codeword_bits(),
        }
    }

    /// k: the data bits of a codeword.
    pub fn data_bits(&self) -> usize {
        match self {
            Self::Ldpc(code) => code.data_bits(),
            Self::Bch(code) => code.data_bits(),
        }
    }

    /// The rate k / n.
    pub fn rate(&self) -> f64 {
        self.data_bits() as f64 / self.codeword_bits() as f64
    }

    /// The number of checks that the packed `word` violates: zero for a codeword. For a BCH code it is the number of parity bits that
    /// differ from the parity of the data.
    ///
    /// # Panics
    /// If it does not have as many bytes as `codeword_bits` bits need.
    pub fn syndrome_weight(&self, word: &[u8]) -> usize {
        match self {
            Self::Ldpc(code) => code.syndrome_weight(word),
            Self::Bch(code) if code.is_codeword(word) => 0,
            Self::Bch(code) => {
                // In the systematic parity-check matrix there is one check for each parity bit.
                let mut encoded = vec![0; word.len()];
                code.encode(&word[..bits::bytes_for(code.data_bits())], &mut encoded);
                bits::distance_of_first(code.codeword_bits(), &encoded, word)
            }
        }
    }

    /// Returns an encoder of this code, for one thread.
    pub fn encoder(&self) -> Encoder {
        match self {
            Self::Ldpc(code) => Encoder::Ldpc(code.encoder()),
            Self::Bch(code) => Encoder::Bch(Arc::clone(code)),
        }
    }

    /// Extracts the data bits of a codeword.
    ///
    /// # Arguments
    /// - `codeword`: `codeword_bits` bits, packed.
    /// - `data`: receives `data_bits` bits, packed; padding bits become 0.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn extract_data(&self, codeword: &[u8], data: &mut [u8]) {
        match self {
            Self::Ldpc(code) => code.extract_data(codeword, data),
            Self::Bch(code) => {
                assert_eq!(codeword.len(), bits::bytes_for(code.codeword_bits()), "bytes of a codeword");
                assert_eq!(data.len(), bits::bytes_for(code.data_bits()), "bytes of data");
                first_bits(codeword, code.data_bits(), data);
            }
        }
    }
}

/// An encoder of either family. It belongs to one thread.
#[derive(Debug, Clone)]
pub enum Encoder {
    /// An encoder of an LDPC code.
    Ldpc(LdpcEncoder),
    /// An encoder of a BCH code, which needs no more than the code.
    Bch(Arc<BchCode>),
}

impl Encoder {
    /// Encodes one word.
    ///
    /// # Arguments
    /// - `data`: `data_bits` bits, packed; padding bits are ignored.
    /// - `codeword`: receives `codeword_bits` bits, packed; padding bits become 0.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn encode(&mut self, data: &[u8], codeword: &mut [u8]) {
        match self {
            Self::Ldpc(encoder) => encoder.encode(data, codeword),
            Self::Bch(code) => code.encode(data, codeword),
        }
    }
}

impl BchParameters {
    /// Parses `m=15,t=57,k=31912`, in any order.
    fn parse(place: &str, text: &str) -> Result<Self> {
        const EXPECTED: &str = "expected m, t and k once each, as in bch:m=15,t=57,k=31912";
        let mut values = [("m", None), ("t", None), ("k", None)];
        for part in text.split(',') {
            let known = part.split_once('=').and_then(|(key, value)| {
                let (_, slot) = values.iter_mut().find(|(name, slot)| *name == key.trim() && slot.is_none())?;
                *slot = Some(value.trim().parse::<u32>().ok()?);
                Some(())
            });
            if known.is_none() {
                return Err(Error::code(place, format!("found `{part}`, {EXPECTED}")));
            }
        }
        match values.map(|(_, value)| value) {
            [Some(field_bits), Some(correctable), Some(data_bits)] => {
                Ok(Self { field_bits, correctable: correctable as usize, data_bits: data_bits as usize })
            }
            _ => Err(Error::code(place, format!("found `{text}`, {EXPECTED}"))),
        }
    }
}

/// The error of a name that no code has.
fn unknown(name: &str) -> Error {
    let mut names: Vec<&str> = Code::names().collect();
    names.sort_by_key(|known| distance(name, known));
    let names = names.join(", ");
    Error::code(
        name,
        format!("found no code and no file with this name, expected a file (.qc or .alist) or one of {names}"),
    )
}
