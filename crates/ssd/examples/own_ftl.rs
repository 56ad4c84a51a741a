//! FTL decisions and a read policy of one's own, in Rust, beside the shipped ones: `cargo run --release --example own_ftl`.
//!
//! Data that is written often and data that is not are kept on different planes; victims are chosen by what is left valid in relation
//! to age; a failed hard decision is read again with three levels before all are tried.

use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::own::{Candidates, ChooseVictim, Own, OwnDevice, OwnPolicy, OwnThing, PlaceWrites, Planes};
use softsense_link::{Observes, OwnRead, OwnStep, PolicyTraits, ReadPolicy};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::summary::Summary;

/// How often each part of the addresses was written lately decides which planes it goes to.
struct HotApart {
    codewords_per_part: u64,
    writes: Vec<u32>,
    written: u64,
}

const PARTS: u64 = 4096;

impl HotApart {
    fn new(device: &OwnDevice) -> Self {
        Self { codewords_per_part: device.user_codewords.div_ceil(PARTS), writes: vec![0; PARTS as usize], written: 0 }
    }
}

impl PlaceWrites for HotApart {
    fn place(&mut self, planes: &Planes) -> Result<Vec<u32>> {
        let part = (planes.codeword.0 / self.codewords_per_part) as usize;
        self.writes[part] += 1;
        self.written += 1;
        if self.written.is_multiple_of(16 * PARTS) {
            // What was hot once cools down.
            self.writes.iter_mut().for_each(|writes| *writes /= 2);
        }
        let is_hot = u64::from(self.writes[part]) * PARTS > 2 * self.writes.iter().map(|&w| u64::from(w)).sum::<u64>();
        let count = planes.free_pages.len();
        let own = if is_hot { 0..count.div_ceil(4) } else { count.div_ceil(4)..count };
        let roomiest = own.clone().max_by_key(|&plane| planes.free_pages[plane]);
        Ok(vec![roomiest.unwrap_or(own.start) as u32])
    }
}

/// The least valid codewords over the square root of age.
struct ByAge;

impl ChooseVictim for ByAge {
    fn choose(&mut self, candidates: &Candidates) -> Result<usize> {
        let score = |at: usize| f64::from(candidates.valid[at]) / (candidates.age[at] as f64).sqrt();
        let least = (0..candidates.valid.len()).min_by(|&a, &b| score(a).total_cmp(&score(b)));
        Ok(least.expect("there is a candidate"))
    }
}

/// Hard decision, three levels, all levels.
struct ThreeStep {
    max_level: u8,
}

impl ReadPolicy for ThreeStep {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        let levels = [1, 3, self.max_level];
        Ok(levels.get(read.tried.len()).map(|&level| OwnStep::level(level)))
    }
}

fn own() -> Own {
    // It sees nothing but how many steps have failed: the few answers there are are asked for before the run.
    let traits = PolicyTraits { observes: Observes::default(), looks_ahead: false, is_function: true };
    let policy = OwnThing::new("three_step 1", |device: &OwnDevice| {
        Ok(Box::new(ThreeStep { max_level: device.max_level }) as Box<dyn ReadPolicy>)
    });
    Own {
        policy: Some(OwnPolicy { traits, policy }),
        victims: Some(OwnThing::new("by_age 1", |_: &OwnDevice| Ok(Box::new(ByAge) as Box<dyn ChooseVictim>))),
        placement: Some(OwnThing::new("hot_apart 1", |device: &OwnDevice| {
            Ok(Box::new(HotApart::new(device)) as Box<dyn PlaceWrites>)
        })),
        ..Own::default()
    }
}

fn measured(overrides: &[&str], own: Own) -> Result<Summary> {
    let workload = ["workload.requests=200_000", "workload.read_fraction=0.3", "precondition.layout=steady_state"];
    let overrides: Vec<String> = workload.iter().chain(overrides).map(ToString::to_string).collect();
    let config = CheckedConfig::open("mlc-25nm", &overrides)?.with_own(own)?;
    let mut run = Run::new(&config, Requests::Workload, false)?;
    while run.advance(100_000)? {}
    Ok(run.summary(false))
}

fn main() -> Result<()> {
    let names =
        ["read.policy='own_ftl:ThreeStep'", "ftl.victims='own_ftl:ByAge'", "ftl.plane_choice='own_ftl:HotApart'"];
    for (what, summary) in [("shipped", measured(&[], Own::default())?), ("own", measured(&names, own())?)] {
        let (written, read) = (summary.writes_detail.write_amplification, summary.response.read);
        println!("{what:8} write amplification {written:.3?}, reads {:.1?} us in the mean", read.mean_us);
        summary.machine.own.iter().for_each(|own| println!("         {}: asked {} times", own.name, own.calls));
    }
    Ok(())
}
