//! The volumes of a trace: which of them are replayed, and at which addresses of the one simulated device.

use std::fmt;
use std::str::FromStr;

use super::options::parse_size;

/// The way in which the devices of a trace share the one simulated device. Devices are known by their number, or by their name where the
/// format has one (`web_2`, `8,16`).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Devices {
    /// All devices, one behind the other in order of device number, each starting at a multiple of 1 MiB.
    #[default]
    Stack,
    /// All devices in one address space; device numbers are ignored.
    Merge,
    /// Only these devices, stacked; requests of other devices are left out and counted.
    Only(Vec<String>),
    /// Only these devices, each with the byte of the simulated device at which it begins.
    Map(Vec<(String, u64)>),
    /// About this share of the devices, stacked. A hash of their numbers and names chooses them, so they are always the same.
    Sample(f64),
}

impl Devices {
    /// Whether requests of a device are replayed.
    pub(super) fn include(&self, number: u32, name: &str) -> bool {
        match self {
            Devices::Stack | Devices::Merge => true,
            Devices::Only(wanted) => {
                wanted.iter().any(|one| is(one, number, name))
                    // The comma of `8,16` also separates devices.
                    || wanted.windows(2).any(|pair| name.split_once(',') == Some((&pair[0], &pair[1])))
            }
            Devices::Map(places) => places.iter().any(|(one, _)| is(one, number, name)),
            Devices::Sample(share) => draw(number, name) < *share,
        }
    }

    /// Returns the byte at which [`Devices::Map`] puts a device.
    pub(super) fn start(&self, number: u32, name: &str) -> Option<u64> {
        let Devices::Map(places) = self else { return None };
        places.iter().find(|(one, _)| is(one, number, name)).map(|&(_, start)| start)
    }
}

fn is(wanted: &str, number: u32, name: &str) -> bool {
    wanted == name || wanted.parse() == Ok(number)
}

/// Returns a number in [0, 1) that depends only on the device.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014 (the mixing function).
fn draw(number: u32, name: &str) -> f64 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let step = |state: u64, word: u64| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word);
    let hash = name.bytes().fold(step(0, number.into()), |state, byte| step(state, byte.into()));
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Devices::Stack => f.pad("stack"),
            Devices::Merge => f.pad("merge"),
            Devices::Only(wanted) => f.pad(&format!("only={}", wanted.join(","))),
            Devices::Map(places) => {
                let places: Vec<String> = places.iter().map(|(one, start)| format!("{one}@{start}")).collect();
                f.pad(&format!("map={}", places.join(",")))
            }
            Devices::Sample(share) => f.pad(&format!("sample={share}")),
        }
    }
}

impl FromStr for Devices {
    type Err = String;

    /// `stack`, `merge`, `only=3,7`, `only=web_2`, `only=8,16` (a Linux device number), `map=3@0,7@10GiB` or `sample=0.1`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = |expected: &str| Err(format!("found `{text}`, expected {expected}"));
        match text.split_once('=') {
            None if text == "stack" => Ok(Devices::Stack),
            None if text == "merge" => Ok(Devices::Merge),
            Some(("only", list)) if !list.split(',').any(|one| one.trim().is_empty()) => {
                Ok(Devices::Only(list.split(',').map(|one| one.trim().to_owned()).collect()))
            }
            Some(("only", _)) => wrong("only= and devices, such as only=3, only=3,7,9, only=web_2 or only=8,16"),
            Some(("sample", share)) => match share.parse() {
                Ok(share) if share > 0.0 && share <= 1.0 => Ok(Devices::Sample(share)),
                _ => wrong("sample= and a share of the devices above 0 and up to 1, such as sample=0.1"),
            },
            Some(("map", list)) => {
                let mut places: Vec<(String, u64)> = Vec::new();
                // A device such as `8,16` has a comma of its own.
                let mut name = String::new();
                for part in list.split(',') {
                    let Some((device, start)) = part.split_once('@') else {
                        name = format!("{name}{},", part.trim());
                        continue;
                    };
                    let device = format!("{name}{}", device.trim());
                    name.clear();
                    match parse_size(start) {
                        Ok(start) if start < 1 << 60 && !device.is_empty() => {
                            if places.iter().any(|(known, _)| *known == device) {
                                return wrong(&format!("device {device} only once"));
                            }
                            places.push((device, start));
                        }
                        _ => return wrong("map= and DEVICE@START for each device, such as map=3@0,7@10GiB"),
                    }
                }
                if name.is_empty() && !places.is_empty() {
                    return Ok(Devices::Map(places));
                }
                wrong("map= and DEVICE@START for each device, such as map=3@0,7@10GiB")
            }
            _ => wrong("stack, merge, only=DEVICES, map=DEVICE@START,... or sample=SHARE, such as only=3,7"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_shown() {
        for text in
            ["stack", "merge", "only=3", "only=3,7,9", "only=web_2", "only=8,16", "map=3@0,8,16@4096", "sample=0.25"]
        {
            assert_eq!(text.parse::<Devices>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "all",
            "only=",
            "only=3,",
            "map=",
            "map=3",
            "map=3@x",
            "map=3@0,3@4KiB",
            "sample=0",
            "sample=2",
            "sample=x",
        ] {
            let error = text.parse::<Devices>().unwrap_err();
            assert!(error.contains(&format!("found `{text}`, expected")), "{error}");
        }
    }

    #[test]
    fn devices_are_known_by_number_or_name() {
        let only: Devices = "only=8,16,web_2".parse().unwrap();
        assert!(only.include(8 << 20 | 16, "8,16") && only.include(0, "web_2") && only.include(16, ""));
        assert!(!only.include(8 << 20 | 17, "8,17") && !only.include(2, "web_0"));
        let map: Devices = "map=8,16@1MiB,3@0".parse().unwrap();
        assert_eq!((map.start(1, "8,16"), map.start(3, ""), map.start(4, "")), (Some(1 << 20), Some(0), None));
    }

    /// Does a sample have about the share that was asked for, and is it part of every larger sample?
    #[test]
    fn samples_are_nested() {
        let few = Devices::Sample(0.1);
        let more = Devices::Sample(0.3);
        let taken = |devices: &Devices| (0..10_000).filter(|&number| devices.include(number, "")).count();
        // The bounds are four standard deviations of a binomial.
        assert!(taken(&few).abs_diff(1_000) < 120 && taken(&more).abs_diff(3_000) < 184);
        assert!((0..10_000).all(|number| !few.include(number, "") || more.include(number, "")));
    }
}
