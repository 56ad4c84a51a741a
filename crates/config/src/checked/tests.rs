use super::*;
use crate::spec::Issue;
use softsense_base::{Purpose, Stream};
use softsense_link::{FixedDraw, ReliabilitySpec};

#[test]
fn setting_a_field_of_another_choice_chooses_it() {
    let text = "reliability.fixed.p_fail = [0.1]\nhost.issue.closed_loop.queue_depth = 4";
    let overrides = [
        "reliability.table.file=laldpc-thresholds".to_owned(),
        "reliability.table.rber.constant.rber=0.001".to_owned(),
        "reliability.table.rber.power_law.scale=1e-5".to_owned(),
        "reliability.table.rber.power_law.pe_exponent=1".to_owned(),
        "host.issue.open_loop.time_scale=2.0".to_owned(),
    ];
    let config = CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap();
    let ReliabilitySpec::Table(table) = &config.config().reliability else { panic!("a table was asked for") };
    assert!(matches!(table.rber, softsense_nand::RberModel::PowerLaw { scale: 1e-5, pe_exponent: 1.0, .. }));
    assert_eq!(config.config().host.issue, Issue::OpenLoop { time_scale: 2.0 });
}

#[test]
fn elements_of_lists_are_set() {
    let text = "flash.page_types = [{ name = \"a\" }, { name = \"b\", sense_us = 50.0 }]\n\
                [reliability.fixed]\np_fail = [0.1, 0.2]";
    let set = [
        "flash.page_types[1].program_us=900",
        "flash.page_types[0]={ name = 'c' }",
        "reliability.fixed.p_fail[1]=0.05",
    ];
    let config = CheckedConfig::from_toml(text, "t.toml", &set.map(String::from)).unwrap();
    let types = &config.config().flash.page_types;
    assert_eq!((types[0].name.as_str(), types[1].name.as_str()), ("c", "b"));
    assert_eq!((types[0].program_us, types[1].program_us, types[1].sense_us), (121.0, 900.0, 50.0));
    assert_eq!(
        config.config().reliability,
        ReliabilitySpec::Fixed { p_fail: vec![0.1, 0.05], drawn_for: FixedDraw::Codeword }
    );
    let error = CheckedConfig::from_toml(text, "t.toml", &["reliability.fixed.p_fail[1]=0.3".into()]).unwrap_err();
    assert_eq!(error.place(), "--set reliability.fixed.p_fail", "a list of which an element is set");
    // A config that does not give a list has the default one.
    let config = CheckedConfig::from_toml("", "t.toml", &["flash.page_types[1].sense_us=60".into()]).unwrap();
    let mut expected = Config::default();
    expected.flash.page_types[1].sense_us = 60.0;
    assert_eq!(*config.config(), expected);
}

#[test]
fn elements_that_are_not_there_are_named() {
    let cases = [
        ("flash.page_types[5].name=x", "found index 5, expected 0 to 1: `flash.page_types` has 2 elements"),
        ("flash.page_types[-1].name=x", "found index -1, expected 0 to 1: `flash.page_types` has 2 elements"),
        ("reliability.fixed.p_fail[0]=0.1", "found index 0, expected none: `reliability.fixed.p_fail` has 0 elements"),
        (
            "flash.erase_us[0]=1",
            "found index 0 after `flash.erase_us`, which is of type float, expected a list before an index",
        ),
        ("flash[0]=1", "found index 0 after `flash`, which is of type table, expected a list before an index"),
        (
            "flash.page_types.name=x",
            "found `.name` of a list, expected an index before it, as in `flash.page_types[0].name`",
        ),
        ("flash.page_types[0.name=x", "found `page_types[0`, expected an index between `[` and `]`, as in"),
        ("flash.page_types[one].name=x", "found index `one`, expected a whole number from 0"),
        (
            "reliability.adaptive.rates[0].units=1",
            "found no list `reliability.adaptive.rates`, expected one in the config",
        ),
        ("seed=1\nx = 2", "found several lines, expected one TOML value"),
    ];
    let text = "flash = { page_types = [{}, {}], erase_us = 1.0 }\nreliability.fixed.p_fail = []";
    for (set, expected) in cases {
        let error = CheckedConfig::from_toml(text, "t.toml", &[set.into()]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--set {set}: {expected}")), "{error}\nexpected: {expected}");
    }
    // An error in an element is reported at its place of origin.
    let error = |set: &str| {
        let text = "[[flash.page_types]]\n[[flash.page_types]]\nsense_us = -1.0";
        CheckedConfig::from_toml(text, "t.toml", &[set.into()]).unwrap_err().to_string()
    };
    assert!(error("seed=2").starts_with("t.toml:3: flash.page_types[1].sense_us: found -1"));
    assert!(error("flash.page_types[1].sense_us=-2.0").starts_with("--set flash.page_types[1].sense_us: found -2"));
    assert!(error("flash.page_types[0].sens=1").starts_with("--set flash.page_types[0].sens: unknown field"));
}

/// Are values that an override replaces not checked, and is the rest of a bad config still reported with its line?
#[test]
fn overrides_mend_a_config_that_is_bad_by_itself() {
    let text = "[read]\npolicy = \"psychic\"\n[ftl]\nover_provisioning = \"much\"\n[bus]\ntransfer_us = -1.0\n";
    let mend = ["read.policy=ideal", "ftl.over_provisioning=0.2", "bus.transfer_us=5.0"].map(String::from);
    assert!(CheckedConfig::from_toml(text, "t.toml", &mend).is_ok());
    for (left_out, expected) in [
        (0, "t.toml:2: read.policy: found `psychic`, expected one of"),
        (1, "t.toml:4: ftl.over_provisioning: found string \"much\", expected a number"),
        (2, "t.toml:6: bus.transfer_us: found -1"),
    ] {
        let some: Vec<String> = (0..3).filter(|&i| i != left_out).map(|i| mend[i].clone()).collect();
        let error = CheckedConfig::from_toml(text, "t.toml", &some).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
    }
    let too_large = CheckedConfig::from_toml("seed = 9223372036854775808", "t.toml", &["seed=3".into()]);
    assert_eq!(too_large.unwrap().config().seed, 3);
    // A section of a choice that is replaced is removed with it.
    let text = "[reliability.tabel]\nfile = 1";
    assert!(CheckedConfig::from_toml(text, "t.toml", &["reliability=perfect".into()]).is_ok());
    assert!(CheckedConfig::from_toml(text, "t.toml", &["reliability.fixed.p_fail=[0.1]".into()]).is_ok());
}

#[test]
fn overrides_of_a_checked_config_are_named() {
    let config = CheckedConfig::open("tlc-femu", &[]).unwrap();
    let error = |set: &str| config.with_overrides(&[set.into()]).unwrap_err().to_string();
    assert!(error("ftl.over_provisioning=2.0").starts_with("--set ftl.over_provisioning: found 2"));
    assert!(error("ftl.gc_high_watermark_blocks=400").starts_with("--set: ftl.over_provisioning: found 0."));
    assert!(error("flash.page_types[3].sense_us=1").contains("`flash.page_types` has 3 elements"));
}

#[test]
fn the_defaults_are_mlc_25nm_without_its_workload() {
    let mut shipped = CheckedConfig::open("mlc-25nm", &[]).unwrap().config().clone();
    shipped.workload = None;
    // The default is for tables of any references, such as a user's own, with which a retry can keep no more.
    shipped.read.retry = Config::default().read.retry;
    assert_eq!(Config::default(), shipped);
}

/// The rule for victims is described unless it is the greedy one, which is the default.
#[test]
fn rules_for_victims_are_described() {
    let described = |rule: &str| {
        let config = CheckedConfig::open("mlc-25nm", &[format!("ftl.victims={rule}")]).unwrap();
        config.describe().into_iter().find(|(label, _)| label == "victims").map(|(_, value)| value)
    };
    assert_eq!(described("greedy"), None);
    assert_eq!(described("fifo").unwrap(), "closed longest ago");
    assert!(described("{ random_greedy = { choices = 7 } }").unwrap().contains("of 7 drawn at random"));
}

#[test]
fn a_resolved_config_reads_back_as_itself() {
    let checked = CheckedConfig::open("tlc-femu", &[]).unwrap();
    let again = CheckedConfig::from_toml(&checked.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(checked.config(), again.config());
    assert_eq!(checked.sha256(), again.sha256());
}

#[test]
fn what_the_over_provisioning_error_asks_for_is_enough() {
    let with = |value: &str| {
        let overrides = [format!("ftl.over_provisioning={value}"), "geometry.codewords_per_page=4".into()];
        CheckedConfig::from_toml("", "test.toml", &overrides)
    };
    let message = with("0.001").unwrap_err().to_string();
    let asked = message.split("expected at least ").nth(1).unwrap().split(',').next().unwrap();
    assert!(with(asked).is_ok(), "{message}");
}

/// Are all faults reported at once: bad overrides, then fields, then values, within a station and across stations?
#[test]
fn all_faults_are_told_at_once() {
    let told = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap_err().to_string()
    };
    let same = |found: String, expected: &[&str]| {
        assert_eq!(found.lines().count(), expected.len(), "{found}");
        for expected in expected {
            assert!(found.lines().any(|line| line.starts_with(expected)), "{found}\nexpected: {expected}");
        }
    };
    same(
        told(
            "bus.transfer_us = -1.0\n[ftl]\nover_provisioning = 2.0\ngc_low_watermark_blocks = 1",
            &["geometry.channels=0"],
        ),
        &[
            "--set geometry.channels: found 0",
            "t.toml:1: bus.transfer_us: found -1",
            "t.toml:3: ftl.over_provisioning: found 2",
            "t.toml:4: ftl.gc_low_watermark_blocks: found 1",
        ],
    );
    same(
        told(
            "seed = \"x\"\n[ftl]\nover = 0.1\nvictims = \"lru\"\n[flash]\npage_types = [{ sense = 1 }]",
            &["wings=2", "nonsense", "flash.page_types[9].sense_us=1"],
        ),
        &[
            "--set nonsense: expected PATH=VALUE",
            "--set flash.page_types[9].sense_us=1: found index 9",
            "t.toml:1: seed: found string",
            "t.toml:6: flash.page_types[0].sense: unknown field",
            "t.toml:3: ftl.over: unknown field",
            "t.toml:4: ftl.victims: found `",
            "--set wings: unknown field",
        ],
    );
    same(
        told(
            "[reliability.table]\nfile = \"flash-9-9\"\nmost_beyond = 0.1\n[reliability.table.rber]\nconstant = { rber = 0.1 }",
            &["host.max_outstanding=0"],
        ),
        &["--set host.max_outstanding: found 0", "t.toml: flash-9-9"],
    );
}

/// Does a name have its meaning however it is spelled, in a file and an override, and is the run the same?
#[test]
fn names_may_be_spelled_in_other_ways() {
    let text = |file: &str, cells: &str, victims: &str, key: &str| {
        format!(
            "[read]\npolicy = \"look{key}ahead{key}progressive\"\n[ftl]\nover{key}provisioning = 0.2\nvictims = \"{victims}\"\n\
             [reliability.table]\nfile = \"{file}\"\nrber = {{ threshold{key}voltage = \"{cells}\" }}\n"
        )
    };
    let config = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap()
    };
    let plain = config(&text("flash-8-9", "mlc", "cost_benefit", "_"), &["decoder.placement.per_channel=2"]);
    let other = config(&text("flash-8/9", "MLC", "Cost-Benefit", "-"), &["decoder.placement.per-channel=2"]);
    assert_eq!(plain.to_toml(), other.to_toml());
    assert_eq!(plain.sha256(), other.sha256());
    let over =
        config(&text("flash_8_9", "mlc", "cost-benefit", "_"), &["ftl.over-provisioning=0.3", "read.policy=two-step"]);
    assert_eq!(over.config().ftl.over_provisioning, 0.3);
    assert!(over.to_toml().contains("policy = \"two_step\""));
    let set =
        |set: &str| CheckedConfig::open("TLC_FEMU", &["read.references=cells".into(), set.into()]).unwrap().to_toml();
    let cells = "reliability.table.rber.threshold_voltage";
    assert_eq!(set(&format!("{cells}=tlc_2_3_2")), set(&format!("{cells}=tlc-2-3-2")));
}

/// Are whole numbers of 64 bits exact, in the file, an override and the output? And do other numbers not overflow?
#[test]
fn numbers_have_64_bits() {
    for seed in [1 << 63, u64::MAX - 1, u64::MAX] {
        let of_file = CheckedConfig::from_toml(&format!("seed = {seed}"), "t.toml", &[]).unwrap();
        let of_override = CheckedConfig::from_toml("", "t.toml", &[format!("seed={seed}")]).unwrap();
        assert_eq!((of_file.config().seed, of_override.config().seed), (seed, seed));
        let again = CheckedConfig::from_toml(&of_file.to_toml(), "t.toml", &[]).unwrap();
        assert_eq!((again.config().seed, again.sha256()), (seed, of_file.sha256()));
        assert_eq!(again.with_overrides(&["ftl.over_provisioning=0.2".into()]).unwrap().config().seed, seed);
    }
    let schema: serde_json::Value = serde_json::from_str(&crate::spec::schema()).unwrap();
    let of_64_bits = schema["$defs"].as_object().unwrap().values().filter_map(|each| each["properties"].as_object());
    let is_wide = |field: &&serde_json::Value| field["format"] == "uint64";
    assert!(of_64_bits.flatten().map(|(_, field)| field).filter(is_wide).count() > 8);
    for field in [
        "host.write_buffer_bytes",
        "host.link.largest_request_bytes",
        "host.read_buffer.bytes",
        "ftl.mapping.demand.cache_bytes",
        "scheduling.deadlines.read_bytes",
        "workload.requests",
        "workload.footprint_bytes",
        "workload.written_bytes",
        "workload.align_bytes",
        "workload.sizes[0].bytes",
    ] {
        for value in [1 << 63, u64::MAX - 4095, u64::MAX] {
            let Ok(config) = CheckedConfig::open("mlc-25nm", &[format!("{field}={value}")]) else { continue };
            config.describe();
            let _ = config.describe_workload();
            let again = CheckedConfig::from_toml(&config.to_toml(), "t.toml", &[]).unwrap();
            assert_eq!(again.sha256(), config.sha256(), "{field} = {value}");
        }
    }
}

/// Is every path, likely or odd, accepted or refused without ending the process? `SOFTSENSE_PATHS` is the number of paths that are tried.
#[test]
fn odd_paths_are_refused() {
    let count: u64 = std::env::var("SOFTSENSE_PATHS").map_or(3000, |count| count.parse().unwrap());
    let parts = [
        "a",
        "ftl",
        "flash",
        "page_types",
        "host",
        "tenants",
        "workload",
        "reliability",
        "table",
        "rber",
        "precondition",
        "ssds",
        "threshold_voltage",
        "seed",
        "over_provisioning",
        "decoder",
        "time",
        "placement",
        "",
        "-",
        "é",
        "𝔸",
        "\u{202e}",
        "\"",
        "'",
        "\"a.b\"",
        "[0]",
        "[",
        "]",
        "[-1]",
        "[9999999999999999999999]",
        "[0][0]",
        "[[",
        "{",
        " ",
        "\t",
        "\n",
        "=",
        "none",
        "FTL",
        "over-provisioning",
        "0",
        "\0",
    ];
    let values = [
        "1",
        "none",
        "",
        "[[[[",
        "{a=",
        "[1, 2]",
        "{ a.b = 1 }",
        "perfect",
        "\"x",
        "1e999",
        "-1",
        "18446744073709551615",
    ];
    let stream = Stream::new(9, Purpose::Data);
    let (mut read, mut longest) = (0, 0);
    for number in 0..count {
        let draw = |index: u64, below: usize| (stream.bits(number, index) >> 16) as usize % below;
        // One path in a hundred is a long one.
        let steps = if draw(0, 100) == 0 { 1 << draw(1, 17) } else { draw(1, 12) };
        let mut text = String::new();
        for step in 0..steps as u64 {
            text += parts[draw(3 + 2 * step, parts.len())];
            text += if draw(4 + 2 * step, 5) == 0 { "" } else { "." };
        }
        let text = format!("{}={}", text.trim_end_matches('.'), values[draw(2, values.len())]);
        longest = longest.max(text.len());
        let name = ["t.toml", "mlc-25nm"][draw(1, 2)];
        let config = match name {
            "t.toml" => CheckedConfig::from_toml("host.tenants = [{ name = 'a' }]", name, std::slice::from_ref(&text)),
            shipped => CheckedConfig::open(shipped, std::slice::from_ref(&text)),
        };
        match config {
            Ok(_) => read += 1,
            Err(error) => assert!(error.to_string().len() < 200_000, "{}", error.to_string().len()),
        }
        crate::spec::set::own_path(&text);
    }
    println!("{count} paths, of which {read} were right; the longest has {longest} bytes");
}

/// Do errors name the line, or the path, with the value found and the values expected?
#[test]
fn errors_name_the_place() {
    let cases: [(&str, &[&str], &str); 24] = [
        ("seed = 1\n[ftl]\nover = 0.1\n", &[], "t.toml:3: ftl.over: unknown field `over`, expected one of"),
        ("seed = \"x\"\n", &[], "t.toml:1: seed: found string \"x\", expected a whole number from 0"),
        ("[read]\npolicy = \"psychic\"\n", &[], "t.toml:2: read.policy: found `psychic`, expected one of"),
        ("[geometry\n", &[], "t.toml:1: "),
        ("", &["geometry.channels=0"], "--set geometry.channels: found 0, expected a whole number from 1"),
        ("", &["bus.transfer_us=-1.0"], "--set bus.transfer_us: found -1, expected a number from 0"),
        ("", &["ftl.over_provisioning=1.0"], "--set ftl.over_provisioning: found 1, expected a number above 0"),
        ("\nbus.transfer_us = -1.0", &[], "t.toml:2: bus.transfer_us: found -1, expected a number from 0"),
        ("\nbus.transfer_us = -1.0", &["seed=2"], "t.toml:2: bus.transfer_us: found -1, expected a number from 0"),
        ("", &["nonsense"], "--set nonsense: expected PATH=VALUE"),
        ("", &["flash.page_types=[]"], "--set flash.page_types: found 0 page types"),
        // Numbers that exceed 64 bits, or the range of a field.
        ("\nseed = 18446744073709551616\n", &[], "t.toml:2: found 18446744073709551616, expected a whole number from"),
        (
            "seed = 18446744073709551616\n",
            &["ftl.over_provisioning=0.2"],
            "t.toml:1: found 18446744073709551616, expected a whole number from -9223372036854775808 to 1844674407370955161",
        ),
        (
            "seed = 1",
            &["seed=18446744073709551616"],
            "--set seed=18446744073709551616: found 18446744073709551616, expected a whole",
        ),
        ("seed = -1", &[], "t.toml:1: seed: found -1, expected a whole number from 0"),
        (
            "\nprecondition.pe_cycles = 1e6",
            &[],
            "t.toml:2: precondition.pe_cycles: found 1000000.0, expected a whole number from 0 to 10000000",
        ),
        (
            "precondition.ssds = [{ pe_cycles = 4294967296, retention_days = 1.0 }]",
            &[],
            "t.toml:1: precondition.ssds[0].pe_cycles: found 4294967296, expected a whole number from 0 to 10000000",
        ),
        ("", &["read.max_level=300"], "--set read.max_level: found 300, expected a whole number from 0 to 255"),
        ("", &[&"a.b[0]".repeat(12_000)], "--set a.b[0]"),
        // A fault of a whole table is reported at the table; so is a fault in values that nobody has set.
        ("[geometry]\nchannels = 1024", &["geometry.blocks_per_plane=16777216"], "t.toml: geometry: found 703"),
        ("", &["ftl.victims=lru"], "--set ftl.victims: found `lru`, expected one of `greedy`, `fifo`"),
        (
            "",
            &["ftl.victims.random_greedy.choices=0"],
            "--set ftl.victims.random_greedy.choices: found 0, expected a whole",
        ),
        ("", &["ftl.gc_high_watermark_blocks=4294967295"], "t.toml: ftl.over_provisioning: found 0."),
        (
            "",
            &["ftl.gc_high_watermark_blocks=4294967296"],
            "--set ftl.gc_high_watermark_blocks: found 4294967296, expected a whole",
        ),
    ];
    for (text, overrides, expected) in cases {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let error = CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
    }
}
