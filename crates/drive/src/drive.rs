//! The drive, which serves requests of hosts one after another.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use softsense_base::{Error, Ns, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::spec::ReadReclaimSpec;
use softsense_ecc::catalogue::Code;
use softsense_link::{ReadSpec, ReliabilitySpec, StoredReader};
use softsense_nand::{Factors, Rber, ReferencesAt, States};

use crate::Shape;
use crate::fields::unserved;
use crate::image::{Identity, Image, Unwritten};
use crate::state::{MOST_CLOCK_NS, NOWHERE, Record, State};
use crate::stations::Stations;
use crate::status::{Counters, Session};

/// Requests between two checks of whether data has to be moved.
const REQUESTS_BETWEEN_MAINTENANCE: u64 = 1024;

/// The divisor of the drive's size that bounds the write buffer, unless two wordlines are more: a small drive has a small write buffer.
const BUFFER_PART: usize = 32;

/// The temperature to which retention refers where cells do not give one, degrees Celsius.
///
/// Source: K. Zhao et al., "LDPC-in-SSD", 2013, section 4.1: 40 degrees in operation.
const USUAL_TEMPERATURE_C: f64 = 40.0;

/// The settings with which a drive is served.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveSpec {
    /// The folder of the image.
    pub image: PathBuf,
    /// Bytes that hosts address. Without a number, the size of the existing image.
    pub size_bytes: Option<u64>,
    /// Whether one die of each stripe holds the parity of the others. For a new image only.
    pub parity: bool,
    /// The age beyond which data is written anew, in hours by the drive's clock. Without it the config's `ftl.refresh` holds; without
    /// both no data is written anew.
    pub refresh_hours: Option<f64>,
    /// Whether the write buffer outlives a loss of power. If not, FLUSH programs it, padded to whole wordlines.
    pub protected_cache: bool,
    /// The seed of cells; without it, the seed of the config. For a new image only.
    pub seed: Option<u64>,
    /// The name of the config, which the status reports.
    pub config: Option<String>,
}

/// The reason why a request of a host failed.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A unit cannot be read.
    Unreadable { unit: u32 },
    /// There is no room in flash to write to.
    NoRoom,
    /// There is no room on the disk that holds the image.
    HostFull(Error),
    /// The image cannot be read or written.
    Image(Error),
}

impl From<Unwritten> for Refused {
    fn from(unwritten: Unwritten) -> Self {
        match unwritten {
            Unwritten::Full(error) => Self::HostFull(error),
            Unwritten::Failed(error) => Self::Image(error),
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Image(error)
    }
}

/// A drive that is open.
pub(crate) struct Drive {
    pub(crate) spec: DriveSpec,
    pub(crate) model: String,
    pub(crate) shape: Shape,
    pub(crate) image: Image,
    pub(crate) state: State,
    pub(crate) session: Session,
    pub(crate) reader: StoredReader,
    pub(crate) read: ReadSpec,
    pub(crate) rber: Rber,
    pub(crate) factors: Factors,
    pub(crate) page_type_factors: Vec<f64>,
    pub(crate) scrambler: Stream,
    pub(crate) faults: Stream,
    pub(crate) stations: Stations,
    /// For each superblock and die, the references that last led to a decode, where references are remembered.
    pub(crate) remembered: Vec<Option<ReferencesAt>>,
    pub(crate) temperature_c: f64,
    pub(crate) buffer_units: usize,
    /// Programs under way: the time at which each ends, and the units that leave the buffer then.
    pub(crate) programs: VecDeque<(Ns, usize)>,
    pub(crate) reclaim_reads: Option<u64>,
    pub(crate) wear_levelling_spread: Option<u32>,
    requests: u64,
    /// Whether no flash is left to write to.
    pub(crate) read_only: bool,
    /// The last error with the image, if there was any.
    pub(crate) failed: Option<Error>,
    /// The clock and the counters that the journal has, and the superblocks that were read since.
    counted: (u64, Counters),
    pub(crate) read_since: BTreeSet<u32>,
    /// For each superblock, its content when its unreadable units were counted, and their number.
    pub(crate) unreadable: Vec<(crate::describe::Content, u32)>,
    pub(crate) buffers: Buffers,
}

/// Scratch memory for reads and writes.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) pages: Vec<u8>,
    pub(crate) wordline: Vec<u8>,
    pub(crate) steps: Vec<(softsense_link::Step, softsense_link::DecodeAttempt)>,
}

impl Drive {
    /// Opens the drive of an image, or makes one.
    ///
    /// # Errors
    /// A config that cannot be served, a size that does not fit, an image of another drive, or an image that is being served or damaged.
    pub(crate) fn open(config: &CheckedConfig, spec: DriveSpec) -> Result<Self> {
        let (of, directory) = (config.config(), config.directory());
        let exact = match &of.reliability {
            ReliabilitySpec::Exact(exact) => exact.clone(),
            ReliabilitySpec::Table(table) => table.decoded_for_real(directory)?,
            _ => {
                let message = "found a reliability without one code for all ages, expected `exact`, or the `table` \
                               of a code that softsense can open: a served drive encodes and decodes all data";
                return Err(Error::config("reliability", message));
            }
        };
        if of.read.policy.knows_level() {
            let message = "found \"ideal\", expected another policy: `ideal` knows the required level in advance, \
                           and a served drive does not";
            return Err(Error::config("read.policy", message));
        }
        if let Some((path, name)) = config.own_names().next() {
            let message = format!(
                "found `{name}`, expected the name of a shipped one: a served drive runs no Python code of yours"
            );
            return Err(Error::config(path, message));
        }
        if of.geometry.ssds > 1 {
            let message = format!("found {}, expected 1: a served drive is one SSD", of.geometry.ssds);
            return Err(Error::config("geometry.ssds", message));
        }
        if let Some(ReadReclaimSpec::Wordline(_)) = of.ftl.read_reclaim {
            let message = "found `wordline`, expected `block`: a served drive reclaims whole superblocks";
            return Err(Error::config("ftl.read_reclaim", message));
        }
        if let Some((path, expected, why)) = unserved(of) {
            return Err(Error::config(
                path,
                format!("found a value that a served drive does not support, expected {expected}: {why}"),
            ));
        }
        // The flag of the command goes before the config.
        let of_config = of.ftl.refresh.as_ref().map(|refresh| refresh.age_days * 24.0);
        let spec = DriveSpec { refresh_hours: spec.refresh_hours.or(of_config), ..spec };
        let identity = Image::identity(&spec.image)?;
        let seed = identity.as_ref().map_or(spec.seed.unwrap_or(of.seed), |identity| identity.seed);
        let reader = StoredReader::new(&exact, seed, directory)?;
        let code = reader.code();
        if code.data_bits() != 8 * of.geometry.codeword_bytes as usize {
            let message = format!(
                "found {} bytes, expected {}, the data bytes of a codeword of the code",
                of.geometry.codeword_bytes,
                code.data_bits() as f64 / 8.0
            );
            return Err(Error::config("geometry.codeword_bytes", message));
        }
        let codeword_bytes = code.codeword_bits().div_ceil(8) as u32;
        let pages = reader.cells().pages() as u32;
        let (image, state, shape) = match identity {
            Some(identity) => {
                let shape = identity.shape;
                if identity.config != config.to_toml() {
                    return Err(Error::new(
                        softsense_base::ErrorKind::Io,
                        spec.image.display().to_string(),
                        "found the image of a drive with another config, expected one that was made with this \
                         config; serve the image with its own config, or name another folder by --image",
                    ));
                }
                if spec.size_bytes.is_some_and(|size| size != shape.size_bytes()) {
                    let message = format!(
                        "found {} bytes, expected {}, the size of the image in {}, or no --size",
                        spec.size_bytes.unwrap_or(0),
                        shape.size_bytes(),
                        spec.image.display()
                    );
                    return Err(Error::config("--size", message));
                }
                let over = of.ftl.over_provisioning;
                let own = Shape::new(shape.size_bytes(), &of.geometry, over, pages, codeword_bytes, shape.parity)?;
                if own != shape {
                    let message = "the image is damaged: found a geometry that does not follow from its config and \
                                   size";
                    return Err(Error::new(softsense_base::ErrorKind::Io, spec.image.display().to_string(), message));
                }
                let (image, state) = Image::open(&spec.image, &identity)?;
                (image, state, shape)
            }
            None => {
                let Some(size_bytes) = spec.size_bytes else {
                    let message = format!(
                        "missing, expected the size of a new drive, such as 2GiB: there is no image in {}",
                        spec.image.display()
                    );
                    return Err(Error::config("--size", message));
                };
                let over = of.ftl.over_provisioning;
                let shape = Shape::new(size_bytes, &of.geometry, over, pages, codeword_bytes, spec.parity)?;
                let identity = Identity::new(shape, config.to_toml(), directory.to_owned(), seed);
                let state = State::new(&shape);
                (Image::create(&spec.image, &identity, &state)?, state, shape)
            }
        };
        let opened = exact.rber.open("reliability.rber", directory)?;
        let temperature_c = match &reader.cells().states {
            States::Measured(measured) => measured.retention_temperature_c,
            States::Programmed(_) => USUAL_TEMPERATURE_C,
        };
        let in_wordline = shape.slots_of_wordline() as usize;
        let buffer_units = (of.host.write_buffer_bytes / u64::from(shape.unit_bytes)) as usize;
        Ok(Self {
            model: format!("{}, {}", describe(reader.code()), exact.decoder),
            read: of.read,
            rber: opened.compiled(),
            factors: Factors::new(exact.variation.clone(), seed),
            page_type_factors: of.flash.page_types.iter().map(|kind| kind.rber_factor).collect(),
            scrambler: Stream::new(seed, Purpose::Scrambler),
            faults: Stream::new(seed, Purpose::Faults),
            stations: Stations::new(of, &shape, reader.code()),
            remembered: vec![None; (shape.superblocks * shape.dies) as usize],
            counted: (state.clock_ns, state.counters.clone()),
            read_since: BTreeSet::new(),
            unreadable: vec![Default::default(); shape.superblocks as usize],
            temperature_c,
            buffer_units: buffer_units.min(shape.units as usize / BUFFER_PART).max(2 * in_wordline),
            programs: VecDeque::new(),
            reclaim_reads: match of.ftl.read_reclaim {
                Some(ReadReclaimSpec::Block { reads }) => Some(reads.into()),
                _ => None,
            },
            wear_levelling_spread: of.ftl.wear_levelling_spread,
            requests: 0,
            read_only: false,
            failed: None,
            buffers: Buffers::default(),
            session: Session::default(),
            spec,
            shape,
            image,
            state,
            reader,
        })
    }

    /// Changes the state, and notes the change in the image.
    pub(crate) fn commit(&mut self, record: &Record) {
        self.state.apply(&self.shape, record).expect("a record of the drive's own");
        self.image.append(record);
    }

    pub(crate) fn now(&self) -> Ns {
        Ns(self.state.clock_ns)
    }

    pub(crate) fn advance_to(&mut self, time: Ns) {
        let before = self.state.clock_ns;
        self.state.clock_ns = before.max(time.0.min(MOST_CLOCK_NS));
        self.state.rested_hours += (self.state.clock_ns - before) as f64 / 3.6e12;
    }

    /// Begins a request at a time of the drive's clock.
    fn begin(&mut self, at: Ns) {
        self.advance_to(at);
        self.stations.begin();
        self.requests += 1;
        // An error with the image is not this request's error, as it may be a read.
        if self.requests.is_multiple_of(REQUESTS_BETWEEN_MAINTENANCE)
            && let Err(Refused::Image(error)) = self.maintain()
        {
            self.failed = Some(error);
        }
    }

    fn units(&self, offset: u64, bytes: u64) -> impl Iterator<Item = (u32, usize, usize)> + use<> {
        let unit = u64::from(self.shape.unit_bytes);
        let end = offset + bytes;
        (offset / unit..end.div_ceil(unit)).map(move |number| {
            let (from, to) = ((number * unit).max(offset), ((number + 1) * unit).min(end));
            (number as u32, (from - number * unit) as usize, (to - number * unit) as usize)
        })
    }

    /// Reads bytes at a time of the drive's clock. If units cannot be read, returns the first of them as an error; all data before it is
    /// in `buffer`. Otherwise returns the time at which the drive has all bytes.
    pub(crate) fn read(&mut self, at: Ns, offset: u64, buffer: &mut [u8]) -> std::result::Result<Ns, Refused> {
        self.begin(at);
        let mut done = at;
        let mut unit_data = vec![0; self.shape.unit_bytes as usize];
        let mut rest = &mut *buffer;
        let mut failed = None;
        for (unit, from, to) in self.units(offset, rest.len() as u64) {
            let (part, after) = rest.split_at_mut(to - from);
            rest = after;
            let whole = part.len() == unit_data.len();
            let target = if whole { &mut *part } else { &mut unit_data };
            match self.read_unit(at, unit, target) {
                Ok(end) => done = done.max(end),
                Err(Refused::Unreadable { unit }) => {
                    failed = Some(Refused::Unreadable { unit });
                    break;
                }
                Err(other) => return Err(other),
            }
            if !whole {
                part.copy_from_slice(&unit_data[from..to]);
            }
        }
        self.advance_to(done);
        let host = &mut self.state.counters.host;
        host.reads += 1;
        host.read_bytes += buffer.len() as u64;
        self.session.latencies.record(done - at);
        match failed {
            None => Ok(done),
            Some(failed) => {
                host.read_errors += 1;
                Err(failed)
            }
        }
    }

    /// Writes bytes at a time of the drive's clock. Returns the time at which the write buffer has them.
    pub(crate) fn write(&mut self, at: Ns, offset: u64, data: &[u8]) -> std::result::Result<Ns, Refused> {
        self.begin(at);
        let mut done = at;
        let mut rest = data;
        let mut unit_data = vec![0; self.shape.unit_bytes as usize];
        for (unit, from, to) in self.units(offset, data.len() as u64) {
            let (part, after) = rest.split_at(to - from);
            rest = after;
            if self.read_only {
                return Err(Refused::NoRoom);
            }
            self.image.ready()?;
            if self.state.buffer.len() > self.buffer_units {
                // The last write found no room for the data that it put into the buffer.
                done = self.make_room(done)?;
            }
            if part.len() == unit_data.len() {
                self.state.buffer(unit, part, false);
            } else {
                match self.state.buffer.get_mut(&unit) {
                    Some(_) => {}
                    None => {
                        let end = self.read_unit(done, unit, &mut unit_data)?;
                        done = done.max(end);
                        self.state.buffer(unit, &unit_data, false);
                    }
                }
                let held = self.state.buffer.get_mut(&unit).expect("it was put there");
                held.data[from..to].copy_from_slice(part);
                held.journaled = false;
            }
            self.state.counters.host.units_written += 1;
            done = self.make_room(done)?;
        }
        self.advance_to(done);
        let host = &mut self.state.counters.host;
        host.writes += 1;
        host.written_bytes += data.len() as u64;
        self.keep_journal_short()?;
        Ok(done)
    }

    /// Makes sure that all written data outlives a stop of any kind. Returns the time at which it does.
    pub(crate) fn flush(&mut self, at: Ns) -> std::result::Result<Ns, Refused> {
        self.begin(at);
        self.state.counters.host.flushes += 1;
        if !self.spec.protected_cache {
            self.settle()?;
            if !self.state.buffer.is_empty() {
                return Err(Refused::NoRoom);
            }
        }
        self.put_on_disk()?;
        Ok(self.now())
    }

    /// Puts all data and records on the disk.
    pub(crate) fn put_on_disk(&mut self) -> std::result::Result<(), Refused> {
        self.image.ready()?;
        for unit in self.state.not_journaled() {
            let data = self.state.buffer[&unit].data.clone();
            self.commit(&Record::Buffered { unit, data });
        }
        self.count();
        self.image.sync()?;
        self.keep_journal_short()
    }

    /// Notes clock and counters in the image, where they have changed: numbers that somebody has been told outlive this process.
    pub(crate) fn count(&mut self) {
        let state = &self.state;
        if self.counted.0 == state.clock_ns && self.counted.1 == state.counters && self.read_since.is_empty() {
            return;
        }
        let reads = std::mem::take(&mut self.read_since);
        let reads = reads.into_iter().map(|index| (index, state.superblocks[index as usize].reads.clone())).collect();
        self.counted = (state.clock_ns, state.counters.clone());
        let (clock_ns, rested_hours, counters) = (state.clock_ns, state.rested_hours, Box::new(state.counters.clone()));
        self.image.append(&Record::Counted { clock_ns, rested_hours, counters, reads });
        self.image.hand_over();
    }

    fn keep_journal_short(&mut self) -> std::result::Result<(), Refused> {
        if !self.image.is_long() {
            return Ok(());
        }
        match self.image.checkpoint(&self.state) {
            // The journal has all records.
            Err(Unwritten::Full(_)) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Ends the drive. A drive without power has no write buffer, so the buffer is programmed first.
    pub(crate) fn close(&mut self) -> std::result::Result<(), Refused> {
        let settled = self.settle();
        self.put_on_disk()?;
        settled?;
        match self.image.checkpoint(&self.state) {
            Err(Unwritten::Full(_)) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Forgets whole units. Of units that are only partly in the range it forgets nothing, as TRIM is a hint; with `zero`, their bytes
    /// are written as zeroes.
    pub(crate) fn trim(&mut self, at: Ns, offset: u64, bytes: u64, zero: bool) -> std::result::Result<Ns, Refused> {
        self.begin(at);
        self.image.ready()?;
        self.state.counters.host.trims += 1;
        let unit_bytes = self.shape.unit_bytes as usize;
        let (mut whole, mut done) = (None::<(u32, u32)>, at);
        for (unit, from, to) in self.units(offset, bytes) {
            if to - from == unit_bytes {
                whole = Some(whole.map_or((unit, unit + 1), |(first, _)| (first, unit + 1)));
            } else if zero {
                let zeroes = vec![0; to - from];
                done = self.write(done, u64::from(unit) * u64::from(self.shape.unit_bytes) + from as u64, &zeroes)?;
            }
        }
        if let Some((first, end)) = whole {
            self.commit(&Record::Trimmed { first, units: end - first });
            // There may be room again.
            self.read_only = false;
        }
        Ok(done)
    }

    /// The number of bytes from an offset on that are alike, and whether they are a hole.
    pub(crate) fn extent(&self, offset: u64, bytes: u64) -> (u64, bool) {
        let mut length = 0;
        let mut kind = None;
        for (unit, from, to) in self.units(offset, bytes) {
            let hole = self.state.map[unit as usize] == NOWHERE && !self.state.buffer.contains_key(&unit);
            if *kind.get_or_insert(hole) != hole {
                break;
            }
            length += (to - from) as u64;
        }
        (length, kind.unwrap_or(false))
    }
}

fn describe(code: &Code) -> String {
    match code {
        Code::Ldpc(code) => format!("LDPC, n = {}, k = {}", code.codeword_bits(), code.data_bits()),
        Code::Bch(code) => {
            format!("BCH, n = {}, k = {}, t = {}", code.codeword_bits(), code.data_bits(), code.correctable())
        }
    }
}
