//! Policies, rules for victims and placements of users' own in whole devices: do they do what shipped ones do where they decide
//! alike, and what becomes of a run where they fail?

use crate::support;
use crate::support::{assert_map, random_requests, run, served, shipped};
use softsense_base::{Error, ErrorKind, Ns, Result};
use softsense_config::checked::{CheckedConfig, ShippedConfig, shipped_configs};
use softsense_config::own::{Candidates, ChooseVictim, Own, OwnDevice, OwnPolicy, OwnThing, PlaceWrites, Planes};
use softsense_link::{Observes, OwnRead, OwnStep, PolicyTraits, ReadPolicy, Watched};
use softsense_nand::ReferencesAt;
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::Simulation;

/// Reads at these levels, one after the other.
struct Levels(Vec<u8>);

impl ReadPolicy for Levels {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        Ok(self.0.get(read.tried.len()).copied().map(OwnStep::level))
    }
}

fn policy(levels: &[u8], looks_ahead: bool, is_function: bool) -> Own {
    let levels = levels.to_vec();
    let traits = PolicyTraits { observes: Observes::default(), looks_ahead, is_function };
    let policy = OwnThing::new(format!("{levels:?}"), move |_: &OwnDevice| {
        Ok(Box::new(Levels(levels.clone())) as Box<dyn ReadPolicy>)
    });
    Own { policy: Some(OwnPolicy { traits, policy }), ..Own::default() }
}

struct Oldest;

impl ChooseVictim for Oldest {
    fn choose(&mut self, candidates: &Candidates) -> Result<usize> {
        let ages = candidates.age.iter().enumerate();
        Ok(ages.max_by_key(|&(_, age)| age).map(|(index, _)| index).expect("there is one at least"))
    }
}

/// Always the same index.
struct Index(usize);

impl ChooseVictim for Index {
    fn choose(&mut self, _: &Candidates) -> Result<usize> {
        Ok(self.0)
    }
}

fn victims<T: ChooseVictim + 'static>(make: impl Fn() -> T + Send + Sync + 'static) -> Own {
    let victims = OwnThing::new("victims", move |_: &OwnDevice| Ok(Box::new(make()) as Box<dyn ChooseVictim>));
    Own { victims: Some(victims), ..Own::default() }
}

struct Placing<F>(F);

impl<F: FnMut(&Planes) -> Vec<u32> + Send + Sync> PlaceWrites for Placing<F> {
    fn place(&mut self, planes: &Planes) -> Result<Vec<u32>> {
        Ok(self.0(planes))
    }
}

fn placement(place: impl FnMut(&Planes) -> Vec<u32> + Clone + Send + Sync + 'static) -> Own {
    let make = move |_: &OwnDevice| Ok(Box::new(Placing(place.clone())) as Box<dyn PlaceWrites>);
    Own { placement: Some(OwnThing::new("placement", make)), ..Own::default() }
}

/// The summary of a run, without what a clock on the wall says, and what names the run.
fn summary(config: &CheckedConfig) -> serde_json::Value {
    let mut run = Run::new(config, Requests::Workload, false).unwrap();
    while run.advance(10_000).unwrap() {}
    let mut summary = serde_json::to_value(run.summary(false)).unwrap();
    for name in ["machine", "config_sha256", "policy"] {
        summary.as_object_mut().unwrap().remove(name).unwrap();
    }
    summary
}

const SMALL: [&str; 4] = [
    "geometry.channels=2",
    "geometry.blocks_per_plane=128",
    "workload.footprint_bytes=67108864",
    "workload.requests=3000",
];

fn device(overrides: &[&str]) -> CheckedConfig {
    shipped("mlc-25nm.toml", &[&SMALL[..], overrides].concat())
}

#[test]
fn own_policies_read_as_shipped_ones_do() {
    for (shipped, levels, looks_ahead) in [
        ("two_step", &[1, 7][..], false),
        ("look_ahead", &[1, 7], true),
        ("progressive", &[1, 2, 3, 4, 5, 6, 7], false),
        ("look_ahead_progressive", &[1, 2, 3, 4, 5, 6, 7], true),
    ] {
        for retry in ["restart", "incremental"] {
            let (retry, name) = (format!("read.retry={retry}"), format!("read.policy={shipped}"));
            let expected = summary(&device(&[&retry, &name]));
            assert!(expected["operations"]["extra_levels_sensed"].as_u64().unwrap() > 0, "something has to fail");
            for is_function in [true, false] {
                let own = device(&[&retry, "read.policy='own.py:Levels'"]);
                let own = own.with_own(policy(levels, looks_ahead, is_function)).unwrap();
                assert_eq!(summary(&own), expected, "{shipped}, {retry}, asked before: {is_function}");
            }
        }
    }
}

/// Reads as a shipped policy does: from the level that is remembered on, to the deepest one at once or by one level more.
struct Twin {
    one_by_one: bool,
    max_level: u8,
}

impl ReadPolicy for Twin {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        let level = match read.tried.last() {
            None => read.remembered_level.min(self.max_level),
            Some(last) if last.step.level >= self.max_level => return Ok(None),
            Some(last) if self.one_by_one => last.step.level + 1,
            Some(_) => self.max_level,
        };
        Ok(Some(OwnStep::level(level)))
    }
}

/// Whatever `[read]` of a shipped config says of retries, and with retries sensed ahead: are levels without references read so?
#[test]
fn own_policies_read_as_the_config_says() {
    for ShippedConfig { name: config, .. } in shipped_configs() {
        let file = format!("{config}.toml");
        for more in
            [&[][..], &["precondition.pe_cycles=3000", "precondition.retention_days=365", "read.retries_ahead=true"]]
        {
            for (name, one_by_one, looks_ahead) in [("two_step", false, false), ("look_ahead_progressive", true, true)]
            {
                let overrides = [&["workload.requests=400", "flash.cache_register=true"], more].concat();
                let policy = format!("read.policy={name}");
                let expected = summary(&shipped(&file, &[&overrides[..], &[&policy]].concat()));
                let observes = Observes { remembered_level: true, ..Observes::default() };
                let traits = PolicyTraits { observes, looks_ahead, is_function: !one_by_one };
                let thing = OwnThing::new("twin", move |device: &OwnDevice| {
                    Ok(Box::new(Twin { one_by_one, max_level: device.max_level }) as Box<dyn ReadPolicy>)
                });
                let own = Own { policy: Some(OwnPolicy { traits, policy: thing }), ..Own::default() };
                let twin = shipped(&file, &[&overrides[..], &["read.policy='own.py:Twin'"]].concat());
                assert_eq!(summary(&twin.with_own(own).unwrap()), expected, "{file}, {name}, {more:?}");
            }
        }
    }
}

const WRITES: [&str; 5] = [
    "geometry={ channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 48, \
     pages_per_block = 8, codewords_per_page = 2 }",
    "ftl.over_provisioning=0.5",
    // A write that waits for room would take effect after a trim that came later.
    "host.issue={ closed_loop = { queue_depth = 1 } }",
    "precondition.layout=steady_state",
    "reliability=perfect",
];

/// What a device holds after random requests, its map whole, as text: where it differs, so does the choice.
fn written(config: &CheckedConfig) -> String {
    let requests = random_requests(config, 3000, 2000, Ns::from_us(50.0));
    let expected = served(config, &requests);
    let simulation = run(config, requests);
    assert_map(&simulation, &expected);
    let statistics = simulation.statistics();
    assert!(statistics.gc_victims > 100, "something has to be collected: {}", statistics.gc_victims);
    format!("{:?} {:?} {:?}", statistics.operations, statistics.gc_victim_valid, statistics.writes)
}

#[test]
fn own_victims_are_those_of_shipped_rules() {
    let with = |rule: &str| shipped("mlc-25nm.toml", &[&WRITES[..], &[&format!("ftl.victims={rule}")]].concat());
    let own = with("own.py:Oldest").with_own(victims(|| Oldest)).unwrap();
    assert_eq!(written(&own), written(&with("fifo")));
    assert_ne!(written(&own), written(&with("greedy")));
}

#[test]
fn own_placements_place_as_shipped_ones_do() {
    let with =
        |choice: &str| shipped("mlc-25nm.toml", &[&WRITES[..], &[&format!("ftl.plane_choice={choice}")]].concat());
    let most_free = |planes: &Planes| {
        let at = planes.in_turn as usize;
        let count = planes.free_pages.len();
        let turns = (at..count).chain(0..at);
        let best = turns.rev().max_by_key(|&plane| planes.free_pages[plane]).unwrap();
        vec![best as u32]
    };
    let own = |place: Own| with("'own.py:Placing'").with_own(place).unwrap();
    assert_eq!(written(&own(placement(most_free))), written(&with("most_free")));
    assert_eq!(written(&own(placement(|planes| vec![planes.in_turn]))), written(&with("in_turn")));
    // All four planes in turn, said at once: as far as none is passed over, which asks for the next one.
    let calls = |place: Own| {
        let simulation = run(&own(place), random_requests(&with("in_turn"), 300, 2000, Ns::from_us(5000.0)));
        simulation.own_costs()[0].1.calls
    };
    let (one, four) = (calls(placement(|planes| vec![planes.in_turn])), calls(placement(|_| vec![0, 1, 2, 3])));
    assert!(four > 0 && four <= one / 4 + 1, "{one} {four}");
}

/// Does nothing run without what a config names, and does its identity have what was handed over?
#[test]
fn a_config_needs_what_it_names() {
    let config = device(&["read.policy='own.py:Levels'"]);
    let missing = Run::new(&config, Requests::Workload, false).err().unwrap();
    assert!(
        missing
            .to_string()
            .starts_with("read.policy: found `own.py:Levels`, which `CheckedConfig::with_own` has not been given"),
        "{missing}"
    );
    assert_eq!(
        config.own_names().map(|(path, name)| format!("{path} {name}")).collect::<Vec<_>>(),
        ["read.policy own.py:Levels"]
    );
    let identities = [None, Some([1, 7]), Some([1, 6])].map(|levels| match levels {
        None => config.sha256(),
        Some(levels) => config.clone().with_own(policy(&levels, false, true)).unwrap().sha256(),
    });
    assert_ne!(identities[0], identities[1]);
    assert_ne!(identities[1], identities[2]);
    // What is in the config can be written and read again.
    let again = CheckedConfig::from_toml(&config.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.config(), config.config());
}

/// Does a run end with what went wrong, and say where?
#[test]
fn failures_end_the_run() {
    struct Broken;
    impl ReadPolicy for Broken {
        fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
            if read.tried.is_empty() {
                return Ok(Some(OwnStep::level(1)));
            }
            Err(Error::own("own.py:Broken", std::fmt::Error))
        }
    }
    let broken = |is_function| {
        let traits = PolicyTraits { observes: Observes::default(), looks_ahead: false, is_function };
        let policy = OwnThing::new("", |_: &OwnDevice| Ok(Box::new(Broken) as Box<dyn ReadPolicy>));
        let own = Own { policy: Some(OwnPolicy { traits, policy }), ..Own::default() };
        device(&["read.policy='own.py:Broken'"]).with_own(own).unwrap()
    };
    assert_eq!(Run::new(&broken(true), Requests::Workload, false).err().unwrap().kind(), ErrorKind::Own);
    let mut run_of = Run::new(&broken(false), Requests::Workload, false).unwrap();
    let error = loop {
        match run_of.advance(100) {
            Ok(more) => assert!(more, "no read has failed"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.place()), (ErrorKind::Own, "own.py:Broken"));
    let fails = |path: &str, own: Own| {
        let config = shipped("mlc-25nm.toml", &[&WRITES[..], &[&format!("{path}='own.py:Wrong'")]].concat());
        let config = config.with_own(own).unwrap();
        let requests = random_requests(&config, 3000, 2000, Ns::from_us(50.0));
        // The first request may begin, and fail, with the device.
        let simulation = Simulation::new(&config, Box::new(support::Listed::new(requests)), true);
        simulation.and_then(|mut simulation| simulation.advance(u64::MAX / 2)).unwrap_err().to_string()
    };
    assert!(
        fails("ftl.victims", victims(|| Index(999))).starts_with("own.py:Wrong: choose: found 999, expected the index")
    );
    let none = fails("ftl.plane_choice", placement(|_| vec![]));
    assert_eq!(none, "own.py:Wrong: place: found an empty list, expected at least one plane");
    let beyond = fails("ftl.plane_choice", placement(|_| vec![0, 4]));
    assert_eq!(beyond, "own.py:Wrong: place: found 4, expected the index of a plane from 0 to 3");
}

/// Is what a device does not have refused before anything runs?
#[test]
fn policies_want_what_the_device_has() {
    let named = "read.policy='own.py:Levels'";
    let refused = |overrides: &[&str], own: Own| device(overrides).with_own(own).err().unwrap().to_string();
    let ahead = refused(&[named, "flash.cache_register=false"], policy(&[1], true, true));
    assert!(
        ahead.starts_with("own.py:Levels: looks_ahead: found true together with `flash.cache_register = false`"),
        "{ahead}"
    );
    let mut weighs = policy(&[1], false, true);
    weighs.policy.as_mut().unwrap().traits.observes.syndrome_weight = Watched::Whole;
    let bits = refused(&[named, "reliability={ fixed = { p_fail = [0.1] } }", "read.max_level=1"], weighs);
    assert!(bits.contains("has no numbers of violated checks"), "{bits}");
}

/// Reads at references of the cells, whatever the config says.
struct AtCells;

impl ReadPolicy for AtCells {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        let level = [1, 7].get(read.tried.len());
        Ok(level.map(|&level| OwnStep::at(ReferencesAt::Cells, level)))
    }
}

/// Do fields of `read` that say where references stand mean nothing to steps that name theirs?
#[test]
fn steps_with_references_go_by_those_alone() {
    let with = |overrides: &[&str]| {
        let base = [
            "geometry.channels=2",
            "geometry.blocks_per_plane=128",
            "workload.footprint_bytes=67108864",
            "workload.requests=500",
        ];
        let config = shipped("tlc-femu.toml", &[&base[..], &["read.policy='own.py:AtCells'"], overrides].concat());
        let traits = PolicyTraits { observes: Observes::default(), looks_ahead: false, is_function: true };
        let thing = OwnThing::new("cells", |_: &OwnDevice| Ok(Box::new(AtCells) as Box<dyn ReadPolicy>));
        let own = Own { policy: Some(OwnPolicy { traits, policy: thing }), ..Own::default() };
        let mut summary = summary(&config.with_own(own).unwrap());
        let references = summary.as_object_mut().unwrap().remove("references").unwrap();
        assert_eq!((&references["own_cells"], &references["follow_age"]), (&true.into(), &true.into()));
        summary
    };
    let plain = with(&["read.references=cells", "read.soft_references=cells", "read.remembered=nothing"]);
    assert_eq!(with(&["read.references=retry_table", "read.remembered=of_block", "read.retries_ahead=true"]), plain);
}
