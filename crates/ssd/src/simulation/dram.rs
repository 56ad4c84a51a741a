//! The controller's DRAM: one port, which data and map entries cross one after the other.

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::spec::DramSpec;

use super::lane::Lane;

/// Bytes that have crossed the port, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DramBytes {
    /// Data on its way from or to the host.
    pub host: u64,
    /// Data on its way from or to flash, for any owner.
    pub flash: u64,
    /// Map entries.
    pub map: u64,
}

#[derive(Debug)]
pub(super) struct Dram {
    port: Lane,
    access: Ns,
    us_per_byte: f64,
    map_entry_bytes: u64,
    codeword_bytes: u64,
    bytes: DramBytes,
}

impl Dram {
    pub(super) fn of(config: &CheckedConfig) -> Option<Self> {
        let DramSpec { speed, access_us, map_entry_bytes } = config.config().host.dram?;
        Some(Self {
            port: Lane::default(),
            access: Ns::from_us(access_us),
            us_per_byte: 1.0 / (1000.0 * speed.gb_per_s()),
            map_entry_bytes: map_entry_bytes.into(),
            codeword_bytes: config.config().geometry.codeword_bytes.into(),
            bytes: DramBytes::default(),
        })
    }

    fn cross(&mut self, now: Ns, bytes: u64) -> Ns {
        if bytes == 0 {
            return Ns::ZERO;
        }
        self.port.carry(now, self.access + Ns::from_us(bytes as f64 * self.us_per_byte))
    }

    /// Time until the map entries of a request that is in the device now have been looked at, for so many codewords, after data that it
    /// writes has come in. None where nothing crosses.
    pub(super) fn take(&mut self, now: Ns, written_bytes: u64, codewords: u64) -> Option<Ns> {
        let entries = codewords * self.map_entry_bytes;
        self.bytes.host += written_bytes;
        self.bytes.map += entries;
        let data = self.cross(now, written_bytes);
        (written_bytes + entries > 0).then(|| self.cross(now, entries).max(data))
    }

    /// Time until data is out of DRAM on its way to the host.
    pub(super) fn give(&mut self, now: Ns, bytes: u64) -> Ns {
        self.bytes.host += bytes;
        self.cross(now, bytes)
    }

    /// Time until codewords that were read are in DRAM, or codewords that are to be programmed are out of it. None of them passes what came
    /// before it.
    pub(super) fn move_codewords(&mut self, now: Ns, codewords: u64) -> Ns {
        let bytes = codewords * self.codeword_bytes;
        self.bytes.flash += bytes;
        // A page may hold nothing but the end of a unit that the page before it has cut.
        if bytes == 0 { self.port.carry(now, Ns::ZERO) } else { self.cross(now, bytes) }
    }

    /// Puts off what is under way by `by`.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        self.port.put_off(now, by);
    }

    /// Bytes that have crossed the port.
    pub(super) fn bytes(&self) -> DramBytes {
        self.bytes
    }

    /// Starts counting anew for how long the port is busy, and how many bytes cross it.
    pub(super) fn count_anew(&mut self) {
        self.port.count_anew();
        self.bytes = DramBytes::default();
    }

    /// The busy share of the port over the time for which it has counted.
    pub(super) fn busy_share(&self, counted: Ns) -> f64 {
        Lane::busy_share(&[self.port], counted)
    }
}
