//! The controller's DRAM: one port, which data and map entries cross one after the other.

use softsense_base::Ns;

use super::lane::Lane;
use crate::checked::CheckedConfig;
use crate::config::DramSpec;

/// Bytes that have crossed the port, by what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DramBytes {
    /// Data on its way from or to the host.
    pub host: u64,
    /// Data on its way from or to flash, whoever moves it.
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

    /// How long a request that is in the device now takes until its map entries were looked at, of so many codewords, after data that it
    /// writes has come in; none where nothing crosses.
    pub(super) fn take(&mut self, now: Ns, written_bytes: u64, codewords: u64) -> Option<Ns> {
        let entries = codewords * self.map_entry_bytes;
        self.bytes.host += written_bytes;
        self.bytes.map += entries;
        let data = self.cross(now, written_bytes);
        (written_bytes + entries > 0).then(|| self.cross(now, entries).max(data))
    }

    /// How long data takes out of it on its way to the host.
    pub(super) fn give(&mut self, now: Ns, bytes: u64) -> Ns {
        self.bytes.host += bytes;
        self.cross(now, bytes)
    }

    /// How long codewords take into it that were read, or out of it that are to be programmed: none of these before what came before them.
    pub(super) fn move_codewords(&mut self, now: Ns, codewords: u64) -> Ns {
        let bytes = codewords * self.codeword_bytes;
        self.bytes.flash += bytes;
        // A page may hold nothing but the end of what the page before it has cut.
        if bytes == 0 { self.port.carry(now, Ns::ZERO) } else { self.cross(now, bytes) }
    }

    /// What is under way goes on so much later.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        self.port.put_off(now, by);
    }

    /// What has crossed the port.
    pub(super) fn bytes(&self) -> DramBytes {
        self.bytes
    }

    /// Counts from here on.
    pub(super) fn count_anew(&mut self) {
        self.port.count_anew();
        self.bytes = DramBytes::default();
    }

    /// The busy share of the port over the time for which it has counted.
    pub(super) fn busy_share(&self, counted: Ns) -> f64 {
        Lane::busy_share(&[self.port], counted)
    }
}
