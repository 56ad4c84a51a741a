//! Physics: what commands take of a bus, who goes first on it, and what planes of a die do together. Each to the nanosecond.

use crate::support::responses;
use softsense_ssd::checked::CheckedConfig;
use softsense_ssd::request::RequestKind::{Read, Write};

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
