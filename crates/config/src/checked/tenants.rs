use std::ops::Range;

use softsense_base::{Error, Faults, Ns, Result, format_count};
use softsense_requests::trace::TraceStats;

use super::CheckedConfig;
use crate::spec::Namespace;

impl CheckedConfig {
    /// Whether workloads have flushes, or writes with FUA.
    pub(super) fn flushes(&self) -> bool {
        let tenants = self.config.host.tenants.iter().filter_map(|tenant| tenant.workload.as_ref());
        tenants
            .chain(&self.config.workload)
            .any(|workload| workload.flush_fraction > 0.0 || workload.fua_fraction > 0.0)
    }

    /// Checks that the device takes the flushes and the writes with FUA of a trace.
    ///
    /// # Errors
    /// When the trace has some, and mapping units of the device cross pages.
    pub fn check_flushes(&self, trace: &TraceStats) -> Result<()> {
        if !self.crosses_pages() || trace.flushes + trace.fua_writes == 0 {
            return Ok(());
        }
        let (flushes, fua_writes) = (format_count(trace.flushes), format_count(trace.fua_writes));
        let message = format!(
            "found flushes ({flushes}) and writes with FUA ({fua_writes}), expected none together with \
             `reliability.bch` codes whose parity does not fit into `oob_bytes`: a unit of such a code may lie in \
             two pages. --skip-flushes, or `skip_flushes` of a tenant's trace, leaves flushes out"
        );
        Err(Error::trace(trace.path.clone(), message))
    }

    /// Returns the number of placement handles of writes: 1 unless tenants have others.
    pub fn placement_handles(&self) -> u32 {
        1 + self.config.host.tenants.iter().map(|tenant| tenant.placement).max().unwrap_or(0)
    }

    /// Returns the deadline of reads of each tenant, or of all reads where there are no tenants; empty without deadlines.
    pub fn read_deadlines(&self) -> Vec<Ns> {
        let deadlines = self.config.scheduling.as_ref().and_then(|scheduling| scheduling.deadlines.as_ref());
        let Some(deadlines) = deadlines else { return Vec::new() };
        let tenants = self.config.host.tenants.iter();
        let of_tenants: Vec<Ns> =
            tenants.map(|tenant| Ns::from_us(tenant.read_deadline_us.unwrap_or(deadlines.read_us))).collect();
        if of_tenants.is_empty() { vec![Ns::from_us(deadlines.read_us)] } else { of_tenants }
    }

    /// Returns the bytes of the device that each tenant sees, in whole codewords; empty without tenants.
    ///
    /// # Errors
    /// When namespaces need more room than there is, or one has no room for a codeword.
    pub fn namespaces(&self) -> Result<Vec<Range<u64>>> {
        let tenants = &self.config.host.tenants;
        let (unit, device) = (u64::from(self.config.geometry.codeword_bytes), self.user_codewords());
        let mut faults = Faults::default();
        let error = |index: usize, message: String| Error::config(format!("host.tenants[{index}].namespace"), message);
        let own = |namespace: &Namespace| match namespace {
            Namespace::Fraction(share) => Some((share * device as f64).floor() as u64),
            Namespace::Bytes(bytes) => Some(bytes / unit),
            Namespace::Rest | Namespace::Whole | Namespace::SharedWith(_) => None,
        };
        let mut taken = 0_u64;
        for (index, tenant) in tenants.iter().enumerate() {
            taken = taken.saturating_add(own(&tenant.namespace).unwrap_or(0));
            if taken > device {
                let message = format!(
                    "found namespaces of {} bytes in all, this one included, expected at most the capacity of the \
                     device ({} bytes)",
                    taken.saturating_mul(unit),
                    self.user_bytes()
                );
                // No namespace after this one has room either.
                return Err(error(index, message));
            }
        }
        let sharing = tenants.iter().filter(|tenant| tenant.namespace == Namespace::Rest).count() as u64;
        let rest = (device - taken).checked_div(sharing).unwrap_or(0);
        let mut next = 0;
        let mut of = Vec::with_capacity(tenants.len());
        for (index, tenant) in tenants.iter().enumerate() {
            let codewords = match &tenant.namespace {
                Namespace::Whole => 0..device,
                // A shared namespace is filled in when all others are known.
                Namespace::SharedWith(_) => 0..1,
                namespace => {
                    let first = next;
                    next += own(namespace).unwrap_or(rest);
                    first..next
                }
            };
            if codewords.is_empty() {
                faults.add(error(
                    index,
                    format!(
                        "found a namespace that is smaller than a codeword, expected at least {unit} bytes; `rest` \
                         is what the other namespaces leave of the device"
                    ),
                ));
            }
            of.push(codewords.start * unit..codewords.end * unit);
        }
        for (index, tenant) in tenants.iter().enumerate() {
            if let Namespace::SharedWith(name) = &tenant.namespace {
                let owner = tenants.iter().position(|other| other.name == *name).expect("names are checked");
                of[index] = of[owner].clone();
            }
        }
        faults.end().map(|()| of)
    }
}
