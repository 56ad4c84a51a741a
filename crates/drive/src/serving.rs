//! A drive behind a lock, which serves requests of NBD clients and of its owner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use softsense_base::{Error, Ns, Result, expect_number};
use softsense_config::checked::CheckedConfig;

use crate::drive::{Drive, DriveSpec, Refused};
use crate::fields::without_effect;
use crate::nbd::{Export, Extent, Failure};
use crate::state::Broken;

/// A drive that is being served.
pub struct ServedDrive {
    drive: Mutex<Drive>,
    /// With real time: an instant, and the drive's clock at this instant. Without, requests come one after another, each when the last
    /// one is done.
    origin: Option<Mutex<(Instant, Ns)>>,
    size_bytes: u64,
    unit_bytes: u32,
    read_only: bool,
    stopping: AtomicBool,
    without_effect: Vec<String>,
}

/// A request of the owner of a drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Ask {
    /// Report the status.
    Status {},
    /// Let time, wear and reads pass.
    Age {
        #[serde(default)]
        retention_hours: f64,
        /// The temperature during this time, degrees Celsius. Without it, the one that cells are measured for.
        #[serde(default)]
        temperature_c: Option<f64>,
        #[serde(default)]
        pe_cycles: u32,
        /// Reads of each block.
        #[serde(default)]
        reads: u64,
        /// Whether the drive has power during this time, and refreshes its data.
        #[serde(default)]
        powered: bool,
    },
    /// Cause a fault.
    Fault(Fault),
    /// Read all units, and write anew those that are hard to read.
    Scrub {},
    /// Put all data on the disk.
    Flush {},
    /// Stop serving.
    Stop {},
}

/// A fault that the owner of a drive causes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Fault {
    /// The die with this number fails.
    KillDie(u32),
    /// The plane with this number fails: planes are numbered die by die.
    KillPlane(u32),
    /// A block fails.
    KillBlock { die: u32, plane: u32, block: u32 },
    /// A number of bits become wrong in the codeword that holds a sector of 512 bytes.
    FlipBits { lba: u64, bits: u32 },
    /// Power is lost, and comes back.
    DropPower {},
    /// All dies, planes and blocks that failed work again.
    Heal {},
}

fn below(path: &str, found: u32, end: u32) -> Result<()> {
    if found < end {
        return Ok(());
    }
    Err(Error::config(path, format!("found {found}, expected a number from 0 to {}", end - 1)))
}

/// The error that the owner of a drive is told when an action was not carried out.
fn said<T>(acted: std::result::Result<T, Refused>) -> Result<T> {
    acted.map_err(|refused| match refused {
        Refused::Image(error) | Refused::HostFull(error) => error,
        Refused::NoRoom => Error::config("drive", "found no free superblock, expected at least one to move data to"),
        Refused::Unreadable { unit } => {
            Error::config("drive", format!("found unit {unit} unreadable, expected data that can be read"))
        }
    })
}

impl ServedDrive {
    /// Opens the drive of an image, or makes one.
    ///
    /// # Arguments
    /// - `real_time`: whether requests take as long as they take in the drive.
    /// - `read_only`: whether hosts may not write.
    ///
    /// # Errors
    /// A config that cannot be served, a size that does not fit, an image of another drive, or an image that is being served or damaged.
    pub fn open(config: &CheckedConfig, spec: DriveSpec, real_time: bool, read_only: bool) -> Result<Self> {
        let drive = Drive::open(config, spec)?;
        Ok(Self {
            size_bytes: drive.shape.size_bytes(),
            unit_bytes: drive.shape.unit_bytes,
            origin: real_time.then(|| Mutex::new((Instant::now(), drive.now()))),
            read_only,
            drive: Mutex::new(drive),
            stopping: AtomicBool::new(false),
            without_effect: without_effect(config.config()),
        })
    }

    /// Returns the paths of fields of the config that have no effect on a drive which is served, where they are not at their defaults.
    pub fn without_effect(&self) -> &[String] {
        &self.without_effect
    }

    fn lock(&self) -> MutexGuard<'_, Drive> {
        // After a panic nothing more is served, so that the state on the disk stays good.
        self.drive.lock().expect("a panic in a drive ends it")
    }

    /// Carries out an action for a host, when its time has come, and waits as long as the drive took.
    fn host<T>(
        &self,
        offset: u64,
        act: impl FnOnce(&mut Drive, Ns) -> std::result::Result<(Ns, T), Refused>,
    ) -> std::result::Result<T, Failure> {
        let mut drive = self.lock();
        if self.stopping.load(Ordering::Relaxed) {
            return Err(Failure::ShuttingDown);
        }
        let at = match &self.origin {
            None => drive.now(),
            Some(origin) => {
                let (instant, clock) = *origin.lock().unwrap_or_else(PoisonError::into_inner);
                clock + Ns(instant.elapsed().as_nanos() as u64)
            }
        };
        let acted = act(&mut drive, at);
        match acted {
            Ok((done, value)) => {
                drop(drive);
                if let Some(origin) = &self.origin {
                    let (instant, clock) = *origin.lock().unwrap_or_else(PoisonError::into_inner);
                    let due = instant + Duration::from_nanos(done.saturating_sub(clock).0);
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                }
                Ok(value)
            }
            Err(Refused::Unreadable { unit }) => {
                Err(Failure::Io { offset: offset.max(u64::from(unit) * u64::from(self.unit_bytes)) })
            }
            Err(Refused::NoRoom | Refused::HostFull(_)) => Err(Failure::NoSpace),
            Err(Refused::Image(error)) => {
                drive.failed = Some(error);
                Err(Failure::Io { offset })
            }
        }
    }

    /// Whether somebody has asked the drive to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Programs the content of the write buffer, as a drive without power has none, and puts all data on the disk. Nothing is served
    /// afterwards.
    ///
    /// # Errors
    /// When the image cannot be written.
    pub fn close(&self) -> Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        said(self.lock().close())
    }

    /// Answers a request of the owner. The request is a JSON object with one field, and the answer one with the field `ok` or `error`.
    pub fn ask(&self, request: &str) -> String {
        let answer = serde_json::from_str(request)
            .map_err(|error| {
                let message = format!("{error}, expected one JSON object such as {{\"status\": {{}}}}");
                Error::config("request", message)
            })
            .and_then(|ask| self.answer(ask));
        match answer {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(error) => json!({ "error": error.to_string() }).to_string(),
        }
    }

    fn answer(&self, ask: Ask) -> Result<Value> {
        let mut drive = self.lock();
        let done = |acted: std::result::Result<Value, Refused>, drive: &mut Drive| {
            if let Err(Refused::Image(error)) = &acted {
                drive.failed = Some(error.clone());
            }
            said(acted)
        };
        match ask {
            Ask::Status {} => Ok(serde_json::to_value(drive.status()).expect("plain data")),
            Ask::Age { retention_hours, temperature_c, pe_cycles, reads, powered } => {
                expect_number("retention_hours", retention_hours, 0.0, 1e6)?;
                let temperature_c = temperature_c.unwrap_or(drive.temperature_c);
                expect_number("temperature_c", temperature_c, -55.0, 250.0)?;
                expect_number("pe_cycles", pe_cycles.into(), 0.0, 1e6)?;
                expect_number("reads", reads as f64, 0.0, 1e12)?;
                let aged = drive.age(retention_hours, temperature_c, pe_cycles, reads, powered);
                if let Some(origin) = &self.origin {
                    *origin.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), drive.now());
                }
                let programmed = done(aged.map(Value::from), &mut drive)?;
                let status = drive.status();
                Ok(json!({
                    "clock_s": status.clock_s, "ages": status.ages,
                    "units_programmed": programmed, "buffered_bytes": status.buffered_bytes,
                }))
            }
            Ask::Fault(fault) => {
                let broken = self.fault(&mut drive, &fault)?;
                done(broken, &mut drive)
            }
            Ask::Scrub {} => {
                let scrubbed = drive.scrub().map(|(read, rewritten, lost)| {
                    json!({ "units_read": read, "units_rewritten": rewritten, "units_lost": lost })
                });
                done(scrubbed, &mut drive)
            }
            Ask::Flush {} => {
                let now = drive.now();
                let flushed = drive.flush(now).map(|_| json!({}));
                done(flushed, &mut drive)
            }
            Ask::Stop {} => {
                self.stopping.store(true, Ordering::Relaxed);
                Ok(json!({}))
            }
        }
    }

    fn fault(&self, drive: &mut Drive, fault: &Fault) -> Result<std::result::Result<Value, Refused>> {
        let shape = drive.shape;
        let killed = |drive: &mut Drive, kill: &dyn Fn(&mut Broken)| {
            let programmed = drive.break_down(kill);
            Ok(programmed.map(
                |programmed| json!({ "units_programmed": programmed, "units_unreadable": drive.unreadable_units() }),
            ))
        };
        match *fault {
            Fault::KillDie(die) => {
                below("fault.kill_die", die, shape.dies)?;
                killed(drive, &|broken| broken.dies.extend([die]))
            }
            Fault::KillPlane(plane) => {
                below("fault.kill_plane", plane, shape.dies * shape.planes)?;
                let which = (plane / shape.planes, plane % shape.planes);
                killed(drive, &|broken| broken.planes.extend([which]))
            }
            Fault::KillBlock { die, plane, block } => {
                below("fault.kill_block.die", die, shape.dies)?;
                below("fault.kill_block.plane", plane, shape.planes)?;
                let of_plane = (shape.superblocks - plane).div_ceil(shape.planes);
                below("fault.kill_block.block", block, of_plane)?;
                let superblock = block * shape.planes + plane;
                killed(drive, &|broken| broken.blocks.extend([(die, superblock)]))
            }
            Fault::FlipBits { lba, bits } => {
                let sectors = shape.size_bytes() / 512;
                if lba >= sectors {
                    let message = format!("found {lba}, expected a sector from 0 to {}", sectors - 1);
                    return Err(Error::config("fault.flip_bits.lba", message));
                }
                let unit = (lba * 512 / u64::from(shape.unit_bytes)) as u32;
                Ok(drive.flip_bits(unit, bits).map(|flipped| json!({ "bits": flipped })))
            }
            Fault::DropPower {} => Ok(drive.drop_power().map(|lost| json!({ "units_lost": lost }))),
            Fault::Heal {} => Ok(drive.heal().map(|()| json!({}))),
        }
    }
}

impl Export for ServedDrive {
    fn name(&self) -> &str {
        "softsense"
    }

    fn description(&self) -> &str {
        "a simulated SSD whose cells wear and whose error correction is real"
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn preferred_block_bytes(&self) -> u32 {
        self.unit_bytes.next_power_of_two().min(65_536)
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), Failure> {
        self.host(offset, |drive, at| drive.read(at, offset, buffer).map(|done| (done, ())))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> std::result::Result<(), Failure> {
        self.host(offset, |drive, at| {
            let done = drive.write(at, offset, data)?;
            Ok((if fua { drive.flush(done)? } else { done }, ()))
        })
    }

    fn flush(&self) -> std::result::Result<(), Failure> {
        self.host(0, |drive, at| drive.flush(at).map(|done| (done, ())))
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> std::result::Result<(), Failure> {
        self.host(offset, |drive, at| {
            let done = drive.trim(at, offset, bytes, false)?;
            Ok((if fua { drive.flush(done)? } else { done }, ()))
        })
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, may_trim: bool, fua: bool) -> std::result::Result<(), Failure> {
        self.host(offset, |drive, at| {
            let mut done = at;
            if may_trim {
                done = drive.trim(at, offset, bytes, true)?;
            } else {
                // In parts, as a request for zeroes may be larger than memory should be.
                let zeroes = vec![0; bytes.min(1 << 20) as usize];
                let mut written = 0;
                while written < bytes {
                    let part = (bytes - written).min(zeroes.len() as u64);
                    done = drive.write(done, offset + written, &zeroes[..part as usize])?;
                    written += part;
                }
            }
            Ok((if fua { drive.flush(done)? } else { done }, ()))
        })
    }

    fn extents(&self, offset: u64, bytes: u64, most: usize) -> std::result::Result<Vec<Extent>, Failure> {
        let drive = self.lock();
        let (mut extents, mut at) = (Vec::new(), offset);
        while at < offset + bytes && extents.len() < most {
            let (length, hole) = drive.extent(at, offset + bytes - at);
            extents.push(Extent { bytes: length, hole, zero: hole });
            at += length;
        }
        Ok(extents)
    }
}
