//! Physics: what commands take of a bus, who goes first on it, and what planes of a die do together. Each to the nanosecond.

use softsense_config::checked::CheckedConfig;
use softsense_requests::RequestKind::{Read, Write};

use crate::support::responses;

const COMMAND: u64 = 300;
const SENSE: u64 = 75_000;
const TRANSFER: u64 = 24_600;
const PROGRAM: u64 = 750_000;

/// Chips that do one thing at a time on one channel. Consecutive codewords are on consecutive planes, then dies, then chips.
fn device(chips: u32, planes: u32, more: &[&str]) -> CheckedConfig {
    let toml = format!(
        "reliability = 'perfect'
         [geometry]
         channels = 1
         chips_per_channel = {chips}
         dies_per_chip = 1
         planes_per_die = {planes}
         blocks_per_plane = 32
         pages_per_block = 16
         [flash]
         cache_register = false
         [[flash.page_types]]
         name = 'page'
         sense_us = 75.0
         program_us = 750.0
         [bus]
         transfer_us = 24.6
         command_us = 0.3
         [decoder]
         time.fixed_us = 0.0
         [ftl]
         over_provisioning = 0.4
         stripe = ['plane', 'die', 'chip', 'channel']
         [host]
         issue.open_loop.time_scale = 1.0"
    );
    let overrides: Vec<String> = more.iter().map(ToString::to_string).collect();
    CheckedConfig::from_toml(&toml, "test.toml", &overrides).unwrap()
}

/// Does a command come before a sensing, and with the data of a program? One of a second chip waits for the first one's.
#[test]
fn arrays_begin_when_they_have_their_commands() {
    let two = device(2, 1, &[]);
    let read = COMMAND + SENSE + TRANSFER;
    assert_eq!(responses(&two, &[(Read, 0, 0)]), [read]);
    assert_eq!(responses(&two, &[(Write, 0, 0)]), [COMMAND + TRANSFER + PROGRAM]);
    assert_eq!(responses(&two, &[(Read, 0, 0), (Read, 1, 0)]), [read, read + TRANSFER]);
    // The second command waits until the page of the write has crossed.
    let behind = responses(&two, &[(Write, 0, 0), (Read, 1, 1)]);
    assert_eq!(behind[1], COMMAND + TRANSFER - 1 + read);
}

/// How often do n saturated chips of a channel read? Where data goes first, no chip gets a command until all have sent their pages:
/// they fall into step. Where commands do, each begins again when its own page has left.
#[test]
fn chips_in_step_where_read_data_goes_first() {
    const EACH: u64 = 200;
    for chips in 1..=6u64 {
        let reads: Vec<_> = (0..EACH * chips).map(|lcn| (Read, lcn, 0)).collect();
        let whole = |first| {
            let device = device(chips as u32, 1, &[&format!("bus.first={first}")]);
            responses(&device, &reads).into_iter().max().unwrap()
        };
        let in_step = COMMAND + SENSE + chips * TRANSFER;
        assert_eq!(whole("read_data"), EACH * in_step, "{chips} chips, read data first");
        let each = (COMMAND + SENSE + TRANSFER).max(chips * (COMMAND + TRANSFER));
        let (found, expected) = (whole("commands") as f64, (EACH * each) as f64);
        assert!((found / expected - 1.0).abs() < 0.01, "{chips} chips, commands first: {found} for {expected}");
    }
}

/// What do planes of a die do together? Equal pages at once; other pages one after the other, unless the die can sense any.
#[test]
fn planes_of_a_die_take_one_command_together() {
    let multi = |take: &str| device(1, 2, &[&format!("flash.rounds={{ among = \"die\", take = \"{take}\" }}")]);
    let free = device(1, 2, &[]);
    let read = COMMAND + SENSE + TRANSFER;
    // Codewords 0 and 1 are the first pages of two planes, 2 and 3 the second.
    let (equal, other) = ([(Read, 0, 0), (Read, 1, 0)], [(Read, 0, 0), (Read, 3, 0)]);
    let both = [read, read + TRANSFER];
    for device in [&free, &multi("multi_plane"), &multi("multi_plane_any_page")] {
        assert_eq!(responses(device, &equal), both);
    }
    assert_eq!(responses(&multi("multi_plane_any_page"), &other), both);
    assert_eq!(responses(&multi("multi_plane"), &other), [read, 2 * read]);
    // A read never shares a command with a program, and what comes while one is under way waits for the next.
    let mixed = [(Write, 0, 0), (Read, 1, 0), (Read, 3, 10)];
    let write = COMMAND + TRANSFER + PROGRAM;
    assert_eq!(responses(&multi("multi_plane_any_page"), &mixed)[..2], [write, write + read]);
    // A page that fits is taken from behind one that does not.
    let fits = [(Read, 0, 0), (Read, 2, 1), (Read, 5, 1), (Read, 3, 1)];
    let found = responses(&multi("multi_plane"), &fits);
    assert_eq!(found, [read, 2 * read - 1, 3 * read + TRANSFER - 1, 2 * read + TRANSFER - 1]);
}

const SUSPEND: &str = "flash.suspend={ program_us = 20.0, erase_us = 30.0, resume_us = 5.0 }";

/// Dies of two planes that program together; how their planes read.
fn two_planes(reads: &str, more: &[&str]) -> CheckedConfig {
    let rounds = format!("flash.rounds={{ among = \"die\", take = \"multi_plane\", reads = \"{reads}\" }}");
    device(1, 2, &[&[&*rounds], more].concat())
}

/// Do planes that read by themselves read as if they were free, and program and erase as if they did all together?
#[test]
fn planes_read_alone_and_program_together() {
    let (free, together, alone) = (device(1, 2, &[]), two_planes("together", &[]), two_planes("independent", &[]));
    let reads: Vec<_> = (0..60u64).map(|at| (Read, at * at % 37, at * 9_001)).collect();
    assert_eq!(responses(&alone, &reads), responses(&free, &reads));
    assert_ne!(responses(&together, &reads), responses(&free, &reads));
    let writes: Vec<_> = (0..200u64).map(|at| (Write, at % 30, at * 500_000)).collect();
    assert_eq!(responses(&alone, &writes), responses(&together, &writes));
    assert_ne!(responses(&free, &writes), responses(&together, &writes));
    // A program begins when the read of the other plane has left, and a read that comes while it waits comes behind it.
    let (read, write) = (COMMAND + SENSE + TRANSFER, COMMAND + TRANSFER + PROGRAM);
    let found = responses(&alone, &[(Read, 1, 0), (Write, 0, 1), (Read, 3, 2), (Read, 5, 3)]);
    assert_eq!(found, [read, read + write - 1, read + write + read - 2, read + write + 2 * read - 3]);
    // One that waited before it came goes first.
    let found = responses(&alone, &[(Read, 1, 0), (Read, 3, 0), (Write, 0, 1)]);
    assert_eq!(found, [read, 2 * read, 2 * read + write - 1]);
}

/// Do all planes of a die stop for a read in one of them, and go on together? Planes that have stopped read side by side.
#[test]
fn a_die_stops_as_a_whole() {
    let load = COMMAND + TRANSFER;
    let (stop, resume, read) = (20_000, 5_000, COMMAND + SENSE + TRANSFER);
    for reads in ["together", "independent"] {
        let device = two_planes(reads, &[SUSPEND]);
        let ends = |rest: u64| [load + PROGRAM + rest, 2 * load + PROGRAM + rest];
        let one = responses(&device, &[(Write, 0, 0), (Write, 1, 0), (Read, 2, 200_000)]);
        assert_eq!(one[..2], ends(stop + read + resume), "{reads}");
        assert_eq!(one[2], stop + read, "{reads}");
        let both = responses(&device, &[(Write, 0, 0), (Write, 1, 0), (Read, 2, 200_000), (Read, 3, 200_000)]);
        assert_eq!(both[..2], ends(stop + read + TRANSFER + resume), "{reads}");
        assert_eq!(both[2..], [stop + read, stop + read + TRANSFER], "{reads}");
        // Pages of unlike number: one after the other, unless planes read by themselves. The second command waits for the bus.
        let unlike = responses(&device, &[(Write, 0, 0), (Write, 1, 0), (Read, 2, 200_000), (Read, 5, 200_000)]);
        let second = if reads == "together" { 2 * read } else { read + TRANSFER };
        assert_eq!(unlike[2..], [stop + read, stop + second], "{reads}");
        // It does not stop while a plane takes its page from the bus, and a plane that has no part in it makes way for none.
        let early = responses(&device, &[(Write, 0, 0), (Write, 1, 0), (Read, 2, load + 1_000)]);
        assert_eq!(early[2], 2 * load - (load + 1_000) + stop + read, "{reads}");
        let idle = responses(&device, &[(Write, 0, 0), (Read, 3, 200_000)]);
        assert_eq!(idle, [load + PROGRAM + stop + read + resume, stop + read], "{reads}");
    }
}

/// Are the pages of the next command loaded while a die programs in all planes? It then takes what its programs take.
#[test]
fn pages_of_the_next_command_are_loaded_while_a_die_programs() {
    let load = COMMAND + TRANSFER;
    let writes: Vec<_> = (0..20).map(|lcn| (Write, lcn, 0)).collect();
    for reads in ["together", "independent"] {
        for (cached, expected) in [(false, 10 * (2 * load + PROGRAM)), (true, 2 * load + 10 * PROGRAM)] {
            let device = two_planes(reads, &[&format!("flash.cache_program={cached}")]);
            assert_eq!(*responses(&device, &writes).last().unwrap(), expected, "{reads}, {cached}");
        }
        // What is loaded goes before a read that has come since.
        let device = two_planes(reads, &["flash.cache_program=true"]);
        let four = [(Write, 0, 0), (Write, 1, 0), (Write, 2, 0), (Write, 3, 0), (Read, 4, 200_000)];
        let read = COMMAND + SENSE + TRANSFER;
        assert_eq!(*responses(&device, &four).last().unwrap(), 2 * load + 2 * PROGRAM + read - 200_000, "{reads}");
    }
}

/// Does a program stop for a read while the next page is loaded, and does that stay where it is?
#[test]
fn a_program_stops_with_the_next_page_loaded() {
    let (load, rest) = (COMMAND + TRANSFER, 20_000 + COMMAND + SENSE + TRANSFER);
    let one = device(1, 1, &["flash.cache_program=true", SUSPEND]);
    let found = responses(&one, &[(Write, 0, 0), (Write, 1, 0), (Read, 9, 200_000)]);
    assert_eq!(found, [load + PROGRAM + rest + 5_000, load + 2 * PROGRAM + rest + 5_000, rest]);
    let two = two_planes("independent", &["flash.cache_program=true", SUSPEND]);
    let found = responses(&two, &[(Write, 0, 0), (Write, 1, 0), (Write, 2, 0), (Write, 3, 0), (Read, 5, 200_000)]);
    let first = 2 * load + PROGRAM + rest + 5_000;
    assert_eq!(found, [first - load, first, first + PROGRAM, first + PROGRAM, rest]);
}

/// Does what rounds of other kinds cannot do have a refusal that names them?
#[test]
fn only_commands_to_a_die_stop_and_look_ahead() {
    for (more, path) in [
        (SUSPEND, "flash.rounds: found together with `flash.suspend`"),
        ("flash.cache_program=true", "flash.cache_program: found together with `flash.rounds`"),
        ("flash.rounds.reads=independent", "flash.rounds.reads: found \"independent\" without multi-plane commands"),
    ] {
        for take in ["first_of_each", "batch"] {
            let rounds = format!("flash.rounds={{ among = \"die\", take = \"{take}\" }}");
            let error = CheckedConfig::open("mlc-25nm", &[rounds, more.to_string()]).unwrap_err().to_string();
            assert!(error.contains(path) && error.contains("multi_plane"), "{error}, expected {path}");
        }
    }
}

/// Is the next page loaded while one is programmed? A plane then takes what programs take, or what the bus takes if that is more; a page
/// that is loaded goes before a read that has come since, and a read that waits already goes before what is not.
#[test]
fn the_next_page_is_loaded_while_one_is_programmed() {
    let load = COMMAND + TRANSFER;
    for (cached, expected) in [("false", 10 * (load + PROGRAM)), ("true", load + 10 * PROGRAM)] {
        let device = device(1, 1, &[&format!("flash.cache_program={cached}")]);
        let writes: Vec<_> = (0..10).map(|lcn| (Write, lcn, 0)).collect();
        assert_eq!(*responses(&device, &writes).last().unwrap(), expected, "{cached}");
    }
    // Programs that take less than their transfers: the bus decides.
    let quick = device(1, 1, &["flash.cache_program=true", "flash.page_types=[{ name = 'page', program_us = 10.0 }]"]);
    let writes: Vec<_> = (0..10).map(|lcn| (Write, lcn, 0)).collect();
    assert_eq!(*responses(&quick, &writes).last().unwrap(), 10 * load + 10_000);
    let ahead = device(1, 1, &["flash.cache_program=true"]);
    let read = COMMAND + SENSE + TRANSFER;
    let late = responses(&ahead, &[(Write, 0, 0), (Write, 1, 0), (Read, 9, load + 1)]);
    assert_eq!(late[1..], [load + 2 * PROGRAM, load + 2 * PROGRAM + read - load - 1]);
    let early = responses(&ahead, &[(Write, 0, 0), (Read, 9, 1), (Write, 1, 2)]);
    assert_eq!(early[1..], [load + PROGRAM + read - 1, load + PROGRAM + read + load + PROGRAM - 2]);
}

/// Three page types whose programs take 750 us together, of which all pages of a wordline are programmed at once.
const ONE_SHOT: [&str; 3] = [
    "flash.one_shot_program=true",
    "flash.page_types=[{ sense_us = 75.0, program_us = 200.0 }, { sense_us = 75.0, program_us = 300.0 }, \
     { sense_us = 75.0, program_us = 250.0 }]",
    "geometry.pages_per_block=15",
];

/// Does a wordline take the loads of its pages, and then one program? Reads go between loads, and wait for the whole program, unless it
/// stops; the bus is free between loads for other chips.
#[test]
fn the_pages_of_a_wordline_are_programmed_at_once() {
    let (load, read) = (COMMAND + TRANSFER, COMMAND + SENSE + TRANSFER);
    let of = |planes: u32, more: &[&str]| device(1, planes, &[&ONE_SHOT, more].concat());
    let one = of(1, &[]);
    assert_eq!(responses(&one, &[(Write, 0, 0)]), [3 * load + PROGRAM]);
    assert_eq!(responses(&one, &[(Write, 0, 0), (Read, 9, 1)]), [3 * load + PROGRAM + read, load + read - 1]);
    let programming = 3 * load + 1_000;
    let behind = responses(&one, &[(Write, 0, 0), (Read, 9, programming)]);
    assert_eq!(behind, [3 * load + PROGRAM, PROGRAM - 1_000 + read]);
    let stops = responses(&of(1, &[SUSPEND]), &[(Write, 0, 0), (Read, 9, programming)]);
    assert_eq!(stops, [3 * load + PROGRAM + 20_000 + read + 5_000, 20_000 + read]);
    // A page is loaded ahead, and two planes of a die do all of it together.
    let ahead = responses(&of(1, &["flash.cache_program=true"]), &[(Write, 0, 0), (Write, 1, 0)]);
    assert_eq!(ahead, [3 * load + PROGRAM, 5 * load + 2 * PROGRAM]);
    let rounds = "flash.rounds={ among = \"die\", take = \"multi_plane\" }";
    assert_eq!(responses(&of(2, &[rounds]), &[(Write, 0, 0), (Write, 1, 0)]), [5 * load + PROGRAM, 6 * load + PROGRAM]);
    // A buffer programs when a wordline is full: reads of its data wait for nothing.
    let buffered = of(1, &["host.write_buffer_bytes=4194304"]);
    let writes: Vec<_> = (0..30).map(|lcn| (Write, lcn, 0)).collect();
    let last = responses(&buffered, &[&writes[..], &[(Read, 3, 1_000_000), (Read, 40, 4_000_000)]].concat());
    assert_eq!(last[..31], [1_000; 31]);
    // Of ten wordlines four have been programmed, and the fifth is being programmed.
    assert_eq!(last[31], 5 * (3 * load + PROGRAM) - 4_000_000 + read);
}

/// Does a wordline of three pages write like one page of three codewords?
#[test]
fn a_wordline_writes_like_a_page_of_all_its_codewords() {
    let common = ["bus.command_us=0.0", "ftl.over_provisioning=0.4", "flash.erase_us=1000.0"];
    let wordlines = device(2, 2, &[&ONE_SHOT[..2], &["geometry.pages_per_block=48"], &common[..]].concat());
    let pages = device(2, 2, &[&["geometry.codewords_per_page=3"], &common[..]].concat());
    let writes: Vec<_> = (0..400u64).map(|at| (Write, at * at % 211, at * 160_000)).collect();
    assert_eq!(responses(&wordlines, &writes), responses(&pages, &writes));
}
