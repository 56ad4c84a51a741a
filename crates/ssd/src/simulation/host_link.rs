//! The link between host and device: commands and written data one way, data that was read and completions the other.

use softsense_base::Ns;
use softsense_config::spec::HostLinkSpec;

use super::lane::Lane;

#[derive(Debug)]
pub(super) struct HostLink {
    latency: Ns,
    us_per_byte: f64,
    command: Ns,
    write_command: Ns,
    commands: Lane,
    to_device: Lane,
    to_host: Lane,
}

/// Mean busy shares of the link between host and device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostLinkShares {
    /// Busy share of the device's own end, which takes commands in.
    pub commands: f64,
    /// Busy share of the direction to the device, with written data.
    pub to_device: f64,
    /// Busy share of the direction to the host, with data that was read.
    pub to_host: f64,
}

impl HostLink {
    pub(super) fn new(spec: &HostLinkSpec) -> Self {
        Self {
            latency: Ns::from_us(spec.latency_us),
            us_per_byte: 1.0 / (1000.0 * spec.speed.gb_per_s()),
            command: Ns::from_us(spec.command_us),
            write_command: Ns::from_us(spec.write_command_us.unwrap_or(spec.command_us)),
            commands: Lane::default(),
            to_device: Lane::default(),
            to_host: Lane::default(),
        }
    }

    /// Time until a command that is fetched now is in the device, with the data that it writes.
    pub(super) fn fetch(&mut self, now: Ns, written_bytes: u64) -> Ns {
        let takes = self.takes(written_bytes);
        let arrives = self.to_device.carry(now, takes) + self.latency;
        let command = if written_bytes > 0 { self.write_command } else { self.command };
        arrives + self.commands.carry(now + arrives, command)
    }

    /// Time until data that leaves the device now is with the host.
    pub(super) fn give(&mut self, now: Ns, read_bytes: u64) -> Ns {
        let takes = self.takes(read_bytes);
        self.to_host.carry(now, takes) + self.latency
    }

    fn takes(&self, bytes: u64) -> Ns {
        Ns::from_us(bytes as f64 * self.us_per_byte)
    }

    /// Puts off what is under way by `by`.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        self.commands.put_off(now, by);
        self.to_device.put_off(now, by);
        self.to_host.put_off(now, by);
    }

    /// Starts counting anew for how long the link is busy.
    pub(super) fn count_anew(&mut self) {
        self.commands.count_anew();
        self.to_device.count_anew();
        self.to_host.count_anew();
    }

    pub(super) fn busy_shares(&self, counted: Ns) -> HostLinkShares {
        let share = |lane: Lane| Lane::busy_share(&[lane], counted);
        HostLinkShares {
            commands: share(self.commands),
            to_device: share(self.to_device),
            to_host: share(self.to_host),
        }
    }
}
