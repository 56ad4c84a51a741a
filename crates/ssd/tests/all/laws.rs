//! What holds for every device, however its features are combined: requests at random on devices at random, against a map in a
//! `HashMap`.
//!
//! `cargo test -p softsense-ssd --test all laws` draws 1,000 devices; `SOFTSENSE_LAW_CASES=1000000` so many, and
//! `SOFTSENSE_LAW_CASES=400000..1000000` those numbers, so that long runs can be divided; `SOFTSENSE_LAW_CASE=7` the
//! one of that number alone, whose device is printed. A case is a function of its number.

use crate::support;
use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use softsense_base::{Ns, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_config::own::{
    AdmitEntries, AdmitPages, MissedEntry, MissedPage, Own, OwnDevice, OwnThing, Pace, PaceCollection, PacedSet,
};
use softsense_ftl::Location;
use softsense_link::DecodeTable;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::{Resource, Simulation, TenantStatistics, Window};

/// Cases without a number of them in the environment: ten seconds on two cores. Before a change of the engine lands, a million of them
/// are run.
const CASES: u64 = 1_000;

/// Cases beyond these that a mistake was found by. When draws are added or change they are other devices.
const FOUND_MISTAKES: [u64; 6] = [21_568, 78_764, 127_334, 372_586, 772_463, 870_162];

/// Draws of one case, one after the other.
struct Draw {
    stream: Stream,
    case: u64,
    next: u64,
}

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.next += 1;
        self.stream.bits(self.case, self.next) % n
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A shipped decode table without the lengths of its code, as a file: units are of any length here.
fn of_any_length(name: &str) -> PathBuf {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("of-any-length");
        fs::create_dir_all(&folder).unwrap();
        for name in ["flash-8-9", "adaptive-5-6", "adaptive-1-2"] {
            let table = DecodeTable::open(name, Path::new("")).unwrap();
            let lengths = format!(", n = {}, k = {}", table.codeword_bits().unwrap(), table.data_bits().unwrap());
            fs::write(folder.join(name), table.text().replacen(&lengths, "", 1)).unwrap();
        }
        folder
    });
    MADE.join(name)
}

/// A device with features drawn from all there are, as TOML; those of an SLC cache, of a schedule, of what the controller does with its
/// memory, of dies and power (parity, failures, copies, losses, bad blocks), and of maintenance, from draws of their own, with which
/// others stay what they were before there were any.
fn device(
    draw: &mut Draw,
    cache: &mut Draw,
    schedule: &mut Draw,
    memory: &mut Draw,
    dies: &mut Draw,
    care: &mut Draw,
) -> String {
    let ssds = draw.one(&[1, 1, 1, 2, 3]);
    let (channels, chips) = (draw.one(&[1, 2]), draw.one(&[1, 2]));
    let ways = if draw.once_in(3) { channels * chips } else { 1 };
    // Writes that have their place, as in DiskSim.
    let placed = ways == 1 && draw.once_in(3);
    let per_page = draw.one(&[1, 1, 2, 4, 20]);
    let unit = draw.one(&[512, 4096]);
    let page_types = draw.one(&[1, 2, 3]);
    let seed = draw.below(1000);
    let (dies_per_chip, planes, blocks, pages) =
        (draw.one(&[1, 1, 2]), draw.one(&[1, 1, 2]), draw.one(&[20, 24]), draw.one(&[4, 6, 9]));
    let mut toml = format!(
        "seed = {seed}\n[geometry]\nssds = {ssds}\nchannels = {channels}\nchips_per_channel = {chips}\ndies_per_chip = {dies_per_chip}\n\
         planes_per_die = {planes}\nblocks_per_plane = {blocks}\npages_per_block = {pages}\ncodewords_per_page = {per_page}\n\
         codeword_bytes = {unit}\n"
    );
    let policy = draw.one(&["ideal", "two_step", "look_ahead", "progressive", "look_ahead_progressive"]);
    let cache_register = policy.starts_with("look") || !draw.once_in(3);
    let reset_us = draw.one(&[0.0, 5.0]);
    // Chips of a group may be of one channel.
    let busy_unit = draw.one(if ways > 1 { &["plane", "die", "chip"] } else { &["plane", "die", "chip", "channel"] });
    toml +=
        &format!("[flash]\ncache_register = {cache_register}\nreset_us = {reset_us:?}\nbusy_unit = \"{busy_unit}\"\n");
    let pe_cycles_per_erase = if draw.once_in(5) { draw.one(&[2, 7]) } else { 1 };
    if pe_cycles_per_erase > 1 {
        toml += &format!("pe_cycles_per_erase = {pe_cycles_per_erase}\n");
    }
    toml += &format!("cache_register_for = \"{}\"\n", draw.one(&["any_read", "any_read", "look_ahead"]));
    if placed && draw.once_in(2) {
        toml += "shared_sensing = false\n";
    }
    let suspends = draw.once_in(3);
    let programs_ahead = draw.once_in(4);
    if programs_ahead {
        toml += "cache_program = true\n";
    }
    // Only commands to planes of a die stop for reads, or know what comes next.
    let as_commands = suspends || programs_ahead;
    if ways == 1 && (!as_commands || busy_unit == "plane") && draw.once_in(if as_commands { 2 } else { 3 }) {
        let chip = busy_unit != "channel" && draw.once_in(2);
        let among = if chip { "\"chip\"".to_owned() } else { format!("{{ channels = {} }}", 1 + draw.below(channels)) };
        let among = if busy_unit == "plane" && draw.once_in(2) { "\"die\"".to_owned() } else { among };
        let takes: &[&str] = match busy_unit {
            "plane" if as_commands => &["multi_plane", "multi_plane_any_page"],
            "plane" => &["first_of_each", "batch", "multi_plane", "multi_plane_any_page"],
            _ => &["first_of_each", "batch"],
        };
        let take = draw.one(takes);
        let reads = if take.starts_with("multi_plane") { draw.one(&["together", "independent"]) } else { "together" };
        toml += &format!("rounds = {{ among = {among}, take = \"{take}\", reads = \"{reads}\" }}\n");
    }
    if draw.once_in(3) {
        toml += &format!("unit_queue = {}\n", 1 + draw.below(3));
    }
    if suspends {
        toml += &format!(
            "suspend = {{ program_us = {}, erase_us = {}, resume_us = {}, most = {}, least_run_us = {}, while_writes_wait = {:?}{} }}\n",
            draw.one(&[0.0, 20.0]),
            draw.one(&[0.0, 30.0]),
            draw.one(&[0.0, 5.0]),
            draw.one(&[1, 3, 100]),
            draw.one(&[0.0, 50.0]),
            memory.one(&[1.0, 1.0, 0.5, 0.0]),
            memory.one(&["", "", ", spread = [{ share = 0.9, fixed_us = 3.0, exponential_us = 40.0 }]"]),
        );
    }
    for index in 0..page_types {
        toml += &format!("[[flash.page_types]]\nname = \"{index}\"\nsense_us = {}\n", draw.one(&[20.0, 41.0]));
    }
    let rber = draw.one(&[1e-3, 6e-3, 0.012, 0.02]);
    let (mut levels, mut iterations, mut tables, mut squeezed) = (7, false, false, false);
    let mut references = String::new();
    let (mut disturbs, mut layers_differ) = (false, false);
    // Blocks change their code within the run, or have long since.
    let age = draw.one(&[0, 1, 2, 5]);
    let mut by_bch = false;
    match draw.below(if placed { 3 } else { 6 }) {
        0 => toml = format!("reliability = \"perfect\"\n{toml}"),
        1 => {
            let drawn_for = draw.one(&["codeword", "page"]);
            toml += &format!("[reliability.fixed]\np_fail = [0.4, 0.3, 0.1, 0.05]\ndrawn_for = \"{drawn_for}\"\n");
        }
        2 => {
            (tables, iterations) = (true, true);
            toml += &format!("[reliability.table]\nfile = {:?}\nmost_beyond = 1.0\n", of_any_length("flash-8-9"));
            layers_differ = draw.once_in(3);
            if layers_differ {
                toml += "variation = { layer_sigma = 0.2, wordlines_per_layer = 2, wordline_sigma = 0.2, page_sigma = 0.1 }\n";
            }
            if draw.once_in(2) {
                // Entries of the retry table that decode little, nothing, and most; a search finds what is best, and what is
                // inferred is somewhere.
                let found_by = draw.one(&["valley_search", "retry_table", "retry_table", "sentinels", "share_of_ones"]);
                references = format!(
                    "references = \"{found_by}\"\nremembered = \"{}\"\nsoft_references = \"{}\"\n",
                    draw.one(&["nothing", "of_block", "of_layer"]),
                    draw.one(&["cells", "fewest_violated"]),
                );
                if draw.once_in(3) {
                    references += "retry_sensing_percent = 70\n";
                }
                if draw.once_in(3) && cache_register {
                    references += "retries_ahead = true\n";
                }
                if draw.once_in(2) {
                    let place = if found_by == "share_of_ones" && ways == 1 { "die" } else { "controller" };
                    references += &format!(
                        "predictor = {{ place = \"{place}\", predict_us = 2.5, threshold_rber = 0.008, checks = 1024 }}\n"
                    );
                }
                let (cells, boundaries) = if page_types == 3 {
                    ("mapping = \"tlc_2_3_2\", verify_v = [2.45, 2.85, 3.25, 3.65, 4.05, 4.45, 4.85]", 7)
                } else {
                    ("mapping = \"mlc\"", 3)
                };
                let entry = |volts| format!("{:?}", vec![volts; boundaries]);
                let entries = [entry(0.12), entry(0.5), entry(0.0)].join(", ");
                // Reads that do much, so that blocks and wordlines differ after few of them.
                let disturb = "read_disturb = { adjacent_stress = 8.4, scale_v = 0.5, doubling_reads = 1e3, \
                               doubling_pe_cycles = 1e3, pass_through_sensitivity = 9.3 }, ";
                disturbs = draw.once_in(2);
                let disturb = if disturbs { disturb } else { "" };
                let follow = format!("{:?}", vec![[0.0, 1.0]; boundaries]);
                toml += &format!(
                    "rber.threshold_voltage = {{ {cells}, {disturb}shortened_sensing = {{ residual_v = 0.02, settling = 3.0 }}, \
                     references = {{ retry_table_v = [{entries}], valley_search = {{ step_v = 0.05, sensings = 7, cells = 20000 }}, \
                     inference = {{ boundary = 1, step_v = 0.02, steps = 8, offset_v = [0.0, 2.0], differences = [-0.1, 0.1], \
                     follow = {follow}, sentinels = 200, counted_cells = 20000 }} }} }}\n"
                );
            } else {
                toml += &format!("rber.constant.rber = {rber}\n");
            }
        }
        3 => {
            (tables, levels) = (true, 1);
            let codewords = draw.one(&[1, 1, 2]).min(per_page);
            let most = per_page / codewords;
            let least = 1 + draw.below(most);
            toml += &format!(
                "[reliability.adaptive]\nmost_beyond = 1.0\ncodewords_per_page = {codewords}\nrates = [\n\
                 {{ file = {:?}, units = {most}, to_pe_cycles = 2 }},\n\
                 {{ file = {:?}, units = {least}, to_pe_cycles = 9 }}]\n\
                 [reliability.adaptive.rber.constant]\nrber = {rber}\n",
                of_any_length("adaptive-5-6"),
                of_any_length("adaptive-1-2"),
            );
            iterations = true;
            if draw.once_in(2) {
                // Limits about what such codewords show: blocks go to and fro.
                let (by, limit) = draw.one(&[
                    ("\"mean_iterations\"", 3.0),
                    ("\"syndrome_weight\"", 900.0),
                    ("{ corrected_errors = { codeword_bits = 65536 } }", 400.0),
                ]);
                let weaker = draw.one(&[0.3, 0.9]) * limit;
                toml += &format!(
                    "[reliability.adaptive.switch.observed]\nby = {by}\nstronger_above = [{limit:?}]\nweaker_below = \
                     [{weaker:?}]\nleast_decodes = {}\n",
                    draw.one(&[1, 4])
                );
            }
        }
        kind => {
            (levels, by_bch) = (1, true);
            squeezed = kind == 5 && per_page > 1;
            let part = unit / draw.one(&[1, 2, 4]);
            let (second, strength) = if squeezed { (unit, draw.one(&[40, 60])) } else { (unit, 8) };
            toml += &format!(
                "[reliability.bch]\noob_bytes = 64\nexact = {}\ncodes = [\n\
                 {{ codeword_bytes = {part}, correctable = 5, to_pe_cycles = 2 }},\n\
                 {{ codeword_bytes = {second}, correctable = {strength}, to_pe_cycles = 4 }}]\n\
                 [reliability.bch.rber.constant]\nrber = {}\n",
                draw.once_in(20),
                rber / 10.0,
            );
        }
    }
    let max_level = 1 + draw.below(levels);
    toml += &format!(
        "[read]\npolicy = \"{policy}\"\nretry = \"{}\"\nmax_level = {max_level}\n{}",
        draw.one(&["incremental", "restart"]),
        references,
    );
    toml += &format!("[ftl]\nover_provisioning = {}\n", draw.one(&[0.65, 0.75]),);
    toml += &if draw.once_in(2) {
        gc_pacing(draw)
    } else {
        format!("gc_low_watermark_blocks = 2\ngc_high_watermark_blocks = {}\n", draw.one(&[2, 3]))
    };
    let whole_pages = placed && draw.once_in(2);
    let static_pool = placed && draw.once_in(2);
    if placed {
        toml += &format!("plane_choice = \"{}\"\nwhole_pages = {whole_pages}\n", draw.one(&["in_turn", "most_free"]));
    }
    if static_pool {
        toml += &format!("allocation_pool = \"{}\"\n", draw.one(&["channel", "chip", "plane"]));
    }
    let victims = draw.one(&["\"greedy\"", "\"fifo\"", "\"cost_benefit\"", "{ random_greedy = { choices = 2 } }"]);
    toml += &format!("victims = {victims}\n");
    if draw.once_in(4) {
        toml += &format!("wear_levelling_spread = {}\n", pe_cycles_per_erase * (1 + draw.below(3)));
    }
    if disturbs && !draw.once_in(4) {
        toml += &read_reclaim(draw, ways, layers_differ);
    }
    toml += &maintenance(care, iterations, tables);
    if ways > 1 {
        let groups = if squeezed {
            "\"none\""
        } else {
            draw.one(&["{ with_chip_factor_above = 1.0 }", "\"all\"", "\"all\"", "\"none\""])
        };
        toml += &format!(
            "[ftl.interleaving]\nways = {ways}\nremainder = \"{}\"\ngroups = {groups}\n",
            draw.one(&["plain", "pad"])
        );
    }
    let in_flash = draw.once_in(3) && !squeezed && !placed;
    if in_flash {
        let eviction = draw.one(&[
            "\"lru\"",
            "{ segmented_lru = { protected_entries = 3 } }",
            "{ lowest_level = { fixed_entries = 2 } }",
        ]);
        toml += &format!(
            "[ftl.mapping.demand]\ncache_bytes = {}\nentry_bytes = {}\neviction = {eviction}\nremember_levels = {}\n\
             lower_after_reads = {}\nremember_translation_levels = {}\n",
            draw.one(&[64, 256, 4096]),
            draw.one(&[8, 64]),
            draw.once_in(2),
            draw.below(3),
            draw.once_in(2),
        );
        if draw.once_in(2) {
            let admission = draw.one(&["second_miss", "law.py:Anyhow"]);
            toml += &format!("admission = \"{admission}\"\nhistory_entries = {}\n", 1 + draw.below(40));
        }
    }
    let placement = draw.one(&["per_channel", "per_ssd", "pool"]);
    let engine = by_bch && draw.once_in(2);
    toml += &format!(
        "[decoder]\nplacement.{placement} = {}\ncodewords_at_once = {}\n",
        1 + draw.below(2),
        if engine { 1 } else { 1 + draw.below(2) }
    );
    if draw.once_in(2) {
        toml += &format!("buffer_codewords = {}\n", draw.below(3));
    }
    if tables && draw.once_in(2) {
        toml += "bypass = { errors = 3, codeword_bits = 36864 }\n";
    }
    let is_circuit = engine || draw.once_in(2);
    let mut circuit = false;
    toml += &match draw.below(3) {
        0 if iterations && is_circuit => {
            circuit = true;
            format!("time.ldpc = {{ checks_per_cycle = {} }}\n", draw.one(&[1, 64, 500]))
        }
        0 if iterations => "time.per_iteration_us = 1.5\n".to_owned(),
        _ if engine => {
            // For one code or several side by side, or too small for the stronger one.
            let correctable = draw.one(&[8, 12, 60]);
            circuit = true;
            format!("time.bch = {{ clock_mhz = 200.0, engine_correctable = {correctable} }}\n")
        }
        1 if by_bch => "time.bch.clock_mhz = 200.0\n".to_owned(),
        _ => format!("time.fixed_us = {}\n", draw.one(&[0.0, 8.0])),
    };
    if draw.once_in(2) {
        toml += &format!("host_first = {}\n", draw.once_in(3));
    }
    let encoder = draw.once_in(3).then(|| draw.one(&["per_channel", "per_ssd", "pool"]));
    if let Some(placement) = encoder {
        toml += &format!(
            "[encoder]\nplacement.{placement} = {}\ntime_us = {:?}\nhost_first = {}\n",
            1 + draw.below(2),
            draw.one(&[0.0, 3.0, 700.0]),
            draw.once_in(2)
        );
        if ways == 1 && draw.once_in(2) {
            toml += &format!("buffer_codewords = {}\n", 4 * per_page + draw.below(9));
        }
    }
    if !by_bch && (placement == "pool" || encoder == Some("pool")) && draw.once_in(2) {
        toml += &format!(
            "[interconnect]\ncodeword_bytes = 5000\nssd_link = {{ bandwidth_gb_per_s = {:?} }}\nswitch = {{ bandwidth_gb_per_s = \
             {:?}, latency_us = 0.5 }}\n",
            draw.one(&[0.1, 4.0]),
            draw.one(&[0.1, 16.0])
        );
    }
    if circuit && draw.once_in(2) {
        toml += "[energy]\ndecoder = \"circuit\"\n";
    }
    let buffer = if squeezed || draw.once_in(3) && !placed {
        let planes = ssds * channels * chips * 4;
        (planes + 2 * ssds * per_page + draw.below(4 * per_page)) * unit
    } else {
        0
    };
    let reads_first = draw.once_in(2) || suspends;
    toml += &format!(
        "[host]\nwrite_buffer_bytes = {buffer}\nreads_first = {}\nspread = \"{}\"\npartial_write = \"{}\"\n",
        reads_first,
        draw.one(&["round_robin", "address"]),
        match (placed, whole_pages) {
            (_, true) => draw.one(&["pad", "copy_back"]),
            (true, false) => draw.one(&["read_modify_write", "pad", "copy_back"]),
            (false, false) => draw.one(&["read_modify_write", "pad"]),
        },
    );
    if buffer > 0 && draw.once_in(5) {
        toml += "write_buffer_power_protected = true\n";
    }
    if buffer > 0 && draw.once_in(3) {
        toml += &format!("write_buffer_replacement = \"{}\"\n", if memory.once_in(3) { "fifo" } else { "lru" });
        if memory.once_in(3) {
            toml += "write_buffer_watermarks = { high = 0.6, low = 0.3 }\n";
        }
    }
    if buffer > 0 && !placed && memory.once_in(2) {
        toml = toml.replace("partial_write = \"read_modify_write\"", "partial_write = \"merge\"");
    }
    if (ways == 1 || squeezed) && draw.once_in(3) {
        let pages = draw.one(&[1, 3, 16]);
        toml += &format!("read_buffer.bytes = {}\n", per_page * unit * pages);
        if memory.once_in(4) {
            toml += "read_buffer.replacement = \"fifo\"\n";
        }
        if memory.once_in(2) {
            toml += "read_buffer.takes = \"whole_pages\"\n";
        }
        if draw.once_in(2) {
            let admission = draw.one(&["always", "second_miss", "law.py:Anyhow"]);
            toml += &format!(
                "read_buffer.admission = \"{admission}\"\nread_buffer.history_pages = {}\n",
                1 + draw.below(9)
            );
        }
        if draw.once_in(3) {
            toml += &format!("read_buffer.largest_request_bytes = {}\n", unit * draw.below(6));
        }
        if pages > 1 && memory.once_in(2) {
            let (most, streams) = (1 + memory.below(pages / 2), memory.one(&[1, 8]));
            toml += &format!("read_ahead = {{ most_pages = {most}, least_pages = 1, streams = {streams} }}\n");
        }
    }
    let dram = memory.once_in(3);
    if dram {
        toml += &format!(
            "dram = {{ speed.bandwidth_gb_per_s = {:?}, access_us = {:?}, map_entry_bytes = {} }}\n",
            memory.one(&[0.01, 1.0]),
            memory.one(&[0.0, 0.5]),
            memory.one(&[0, 4])
        );
    }
    if placed && encoder.is_none() && !dram {
        toml += &format!("serves_in_flight = {}\n", draw.once_in(2));
    }
    if draw.once_in(4) {
        let speed = draw.one(&["bandwidth_gb_per_s = 0.05", "pcie = { generation = 4, lanes = 4 }"]);
        let (latency, command) = (draw.one(&[0.0, 3.0]), memory.one(&[0.0, 0.0, 2.0, 400.0]));
        let of_writes = memory.one(&["", "", ", write_command_us = 7.0"]);
        toml += &format!(
            "link = {{ speed = {{ {speed} }}, latency_us = {latency:?}, command_us = {command:?}{of_writes} }}\n"
        );
    }
    if memory.once_in(8) {
        let (pace, burst) = (memory.one(&[0.5, 20.0, 2000.0]), memory.one(&[0, unit, 64 * unit]));
        toml += &format!("write_pacing = {{ mb_per_s = {pace:?}, burst_bytes = {burst} }}\n");
    }
    toml += &match draw.below(3) {
        0 => "issue.open_loop.time_scale = 1.0\n".to_owned(),
        1 => "issue.closed_loop.queue_depth = 1\n".to_owned(),
        _ => format!("issue.closed_loop.queue_depth = {}\n", draw.one(&[4, 40])),
    };
    let layout = if static_pool { "sequential" } else { draw.one(&["sequential", "steady_state"]) };
    let mapped = if layout == "steady_state" { draw.one(&[0.5, 1.0]) } else { draw.one(&[0.0, 0.5, 1.0]) };
    toml += &format!(
        "[precondition]\nlayout = \"{layout}\"\nmapped_fraction = {mapped:?}\npe_cycles = {age}\nretention_days = 30.0\n\
         translation_pages = \"{}\"\n",
        if in_flash && draw.once_in(2) { "fresh" } else { "aged" },
    );
    if draw.once_in(3) {
        toml += &format!("pe_cycles_spread = {}\n", draw.one(&[0.2, 0.5, 0.9]));
    }
    if disturbs {
        toml += &format!("block_reads = {:?}\n", draw.one(&[0.0, 0.0, 3.0, 40.0]));
    }
    if draw.once_in(2) {
        for _ in 0..ssds {
            let (age, days) = (draw.one(&[0, 1, 2, 5]), draw.one(&[0.0, 30.0]));
            toml += &format!("[[precondition.ssds]]\npe_cycles = {age}\nretention_days = {days:?}\n");
        }
    }
    let by_age = toml.contains("[reliability.adaptive]") || by_bch;
    let is_paced = toml.contains("gc_pacing") && !toml.contains("throttle_writes") || toml.contains("gc_idle");
    if !by_age && !toml.contains("read_reclaim.wordline") && cache.once_in(if is_paced { 4 } else { 2 }) {
        if is_paced {
            // Collection that pauses leaves a cache little room.
            toml = toml.replacen("over_provisioning = 0.65", "over_provisioning = 0.75", 1);
        }
        toml += &slc_cache(cache, page_types);
    }
    if draw.once_in(4) {
        let has_cache = toml.contains("[ftl.slc_cache]");
        toml += &tenants(draw, buffer == 0 && ways == 1 && !has_cache);
    }
    if toml.contains("[[host.tenants]]") && schedule.once_in(2) {
        toml += &format!("fetched_commands = {}\n", schedule.one(&[1, 3]));
    }
    if (!toml.contains("rounds = ") || toml.contains("first_of_each")) && schedule.once_in(3) {
        toml += &scheduling(schedule, suspends);
    }
    let of_ssd = channels * chips * if toml.contains("dies_per_chip = 2") { 2 } else { 1 };
    let in_one_page = ways == 1 && !squeezed && !toml.contains("read_reclaim.wordline");
    let may_be_one_shot =
        in_one_page && !placed && !in_flash && pages % page_types == 0 && !toml.contains("buffer_codewords");
    let one_shot = may_be_one_shot && page_types > 1 && memory.once_in(2);
    if one_shot {
        toml = toml.replacen("[flash]\n", "[flash]\none_shot_program = true\n", 1);
    }
    toml += &parity(dies, of_ssd, ssds, (in_one_page && !placed && !one_shot, squeezed));
    let carries_errors = toml.contains("[reliability.table]") || toml.contains("reliability = \"perfect\"");
    if ways == 1 && !one_shot && carries_errors && !toml.contains("[ftl.parity]") && dies.once_in(2) {
        let (ecc, most) = (dies.one(&["none", "check"]), 1 + dies.below(3));
        let copyback = format!("[flash]\ncopyback = {{ ecc = \"{ecc}\", most_in_a_row = {most} }}\n");
        toml = toml.replacen("[flash]\n", &copyback, 1);
    }
    if !in_flash && !squeezed && dies.once_in(4) {
        toml += &format!(
            "[power_loss]\nat_s = {}\noff_us = {:?}\npower_up_us = 30.0\nscan = \"{}\"\nmap_entry_bytes = {}\n{}",
            dies.one(&["[0.0]", "[0.0002, 0.001, 0.0011, 0.02]", "[0.005, 0.03]"]),
            dies.one(&[0.0, 2e4]),
            dies.one(&["none", "open_blocks", "all_blocks"]),
            dies.one(&[0, 8]),
            dies.one(&["", "mean_interval_s = 0.02\n"]),
        );
    }
    if dies.once_in(3) {
        toml = with_bad_blocks(dies, toml);
    }
    toml
}

/// Bad blocks, with more spares than there may be from the factory, or few, or none; and erases and programs that fail often, in devices that
/// then leave collection two free blocks.
fn with_bad_blocks(draw: &mut Draw, mut toml: String) -> String {
    let (spares, share) = draw.one(&[(0, 0.0), (2, 0.0), (20, 0.1)]);
    toml += &format!("[flash.bad_blocks]\nspare_blocks_per_plane = {spares}\nfactory_share = {share:?}\n");
    let erases_fail = !draw.once_in(4);
    if erases_fail {
        let (cycles, exponent, erase_us) = (draw.one(&[4, 8, 20]), draw.one(&[1.0, 2.0]), draw.one(&[100.0, 9e3]));
        toml += &format!(
            "erase_failure = {{ share = 0.9, at_pe_cycles = {cycles}, exponent = {exponent:?}, erase_us = {erase_us:?} }}\n"
        );
    }
    let others = ["[reliability.bch]", "[reliability.adaptive]", "with_chip_factor_above", "serves_in_flight = false"];
    let programs_fail = !others.iter().any(|other| toml.contains(other)) && draw.once_in(2);
    if programs_fail {
        let (cycles, exponent, program_us) = (draw.one(&[2, 10, 40]), draw.one(&[1.0, 2.0]), draw.one(&[50.0, 3e3]));
        toml += &format!(
            "program_failure = {{ share = 0.9, at_pe_cycles = {cycles}, exponent = {exponent:?}, program_us = {program_us:?} }}\n"
        );
    }
    if erases_fail || programs_fail {
        for high in [2, 3] {
            let low = format!("gc_low_watermark_blocks = 2\ngc_high_watermark_blocks = {high}\n");
            toml = toml.replacen(&low, "gc_low_watermark_blocks = 3\ngc_high_watermark_blocks = 3\n", 1);
        }
    }
    toml
}

/// Parity across dies, where that goes, and dies that fail in the middle of most runs.
fn parity(draw: &mut Draw, dies: u64, ssds: u64, (goes, squeezed): (bool, bool)) -> String {
    let mut toml = String::new();
    if goes && dies > 1 && draw.once_in(2) {
        let widths: Vec<u64> = (2..=dies).filter(|width| dies.is_multiple_of(*width)).collect();
        toml += &format!("[ftl.parity]\ndata_pages = {}\n", draw.one(&widths) - 1);
    }
    if !squeezed && draw.once_in(if toml.is_empty() { 8 } else { 2 }) {
        let at_s = draw.one(&[0.0, 0.001, 0.01, 0.03]);
        toml += &format!("[[flash.die_failures]]\nat_s = {at_s:?}\ndie = {}\n", draw.below(dies * ssds));
    }
    toml
}

/// Which operation goes next, by rules that pass others over often, and deadlines that come near at once, later or never.
fn scheduling(draw: &mut Draw, suspends: bool) -> String {
    let deadlines = draw.once_in(2).then(|| {
        let (read_us, margin_us) = (draw.one(&[60.0, 500.0, 1e4]), draw.one(&[0.0, 50.0, 2e3]));
        let only = if suspends && draw.once_in(2) { ", only_near_suspend = true" } else { "" };
        format!("deadlines = {{ read_us = {read_us:?}, margin_us = {margin_us:?}{only} }}\n")
    });
    let rule = draw.one(&[
        "",
        "kinds.order = [['host_write', 'erase'], ['collection_read'], ['host_read']]\n",
        "kinds.order = [['collection_program'], ['read_reclaim', 'folding', 'wear_levelling'], ['refresh'], ['translation', 'scrub']]\n",
        "kinds.weights = { host_read = 5, host_write = 2 }\n",
    ]);
    let intensity = "intensity = { epoch_us = 500.0, read_bytes = 1, write_bytes = 1 }\n";
    let by = draw.one(&[
        "['kind', 'priority']",
        "['priority', 'kind']",
        "['kind']",
        "['priority']",
        "[]",
        "['kind', 'intensity']",
        "['intensity', 'priority', 'kind']",
    ]);
    let (most, collection_first_at) = (draw.one(&[1, 3, 1000]), draw.below(4));
    // Draws that have come later, with which those above stay what they were.
    let by = if draw.once_in(2) {
        draw.one(&[
            "['slowdown']",
            "['proportional_wait']",
            "['proportional_wait', 'priority', 'intensity', 'slowdown']",
            "['priority', 'proportional_wait', 'kind', 'slowdown', 'intensity']",
        ])
    } else {
        by
    };
    let priorities = draw.one(&["", "priorities.weights = { urgent = 8, high = 4, medium = 2 }\n"]);
    let bus = if draw.once_in(2) { "bus = true\n" } else { "" };
    let commands = if draw.once_in(3) { "[bus]\ncommand_us = 0.5\n" } else { "" };
    format!(
        "{commands}[scheduling]\nby = {by}\npassed_over_at_most = {most}\ncollection_first_at_blocks = {collection_first_at}\n\
         {rule}{priorities}{bus}{intensity}{}",
        deadlines.unwrap_or_default(),
    )
}

/// Several tenants, each of the whole device, so that requests made for one may be anyone's.
///
/// # Arguments
/// - `placed`: whether what they write may be kept apart.
fn tenants(draw: &mut Draw, placed: bool) -> String {
    let scheme = draw
        .one(&["\"round_robin\"", "{ weighted_round_robin = { high_weight = 3, medium_weight = 2, low_weight = 1 } }"]);
    let mut toml = format!(
        "[host.arbitration]\nscheme = {scheme}\nburst = {}\nfetched_commands = {}\n",
        draw.one(&[1, 4]),
        draw.one(&[1, 3, 64])
    );
    for index in 0..2 + draw.below(2) {
        toml += &format!(
            "[[host.tenants]]\nname = \"{index}\"\nworkload = {{}}\nnamespace = \"whole\"\npriority = \"{}\"\nweight = {}\n\
             submission_queue_depth = {}\n",
            draw.one(&["urgent", "high", "medium", "low"]),
            1 + draw.below(3),
            draw.one(&[40, 64]),
        );
        if placed && draw.once_in(2) {
            toml += &format!("placement = {}\n", draw.below(3));
        }
        if draw.once_in(2) {
            toml += draw.one(&["issue.open_loop.time_scale = 0.5\n", "issue.closed_loop.queue_depth = 5\n"]);
        }
    }
    toml
}

/// An SLC cache that few requests fill, and that is folded in short pauses.
fn slc_cache(draw: &mut Draw, page_types: u64) -> String {
    let size = match draw.below(2) {
        0 => format!("static.blocks = {}", 2 + draw.below(3)),
        _ => format!("dynamic = {{ least_blocks = {}, most_blocks = {} }}", draw.below(3), draw.one(&[2, 4, 30])),
    };
    let bits = if page_types == 1 { format!("bits_per_cell = {}\n", 2 + draw.below(3)) } else { String::new() };
    format!(
        "[ftl.slc_cache]\nsize.{size}\nwhen_full = \"{}\"\nfold_below_blocks = {}\nidle_after_us = {:?}\n{bits}cells = {{ wear = \
         {:?}, rber_factor = {:?} }}\n",
        draw.one(&["direct", "fold"]),
        draw.below(3),
        draw.one(&[0.0, 5.0, 300.0, 1e4]),
        draw.one(&[0.0, 0.5, 1.0]),
        draw.one(&[0.01, 1.0]),
    )
}

/// Garbage collection that pauses, by rules of which one answers at random, or whose pace writes keep.
fn gc_pacing(draw: &mut Draw) -> String {
    let low = 2 + draw.below(3);
    let (high, reserve) = (low + draw.below(2), 1 + draw.below(low - 1));
    if draw.once_in(5) {
        // The reserve, which is 2 where programs or erases fail, and three.
        return "gc_low_watermark_blocks = 5\ngc_high_watermark_blocks = 5\ngc_pacing = \"throttle_writes\"\n"
            .to_owned();
    }
    let mut toml = format!(
        "gc_low_watermark_blocks = {low}\ngc_high_watermark_blocks = {high}\ngc_reserve_blocks = {reserve}\ngc_pacing = {}\n",
        draw.one(&[
            "\"preemptible\"",
            "{ paced = { moves_per_write = 0.5 } }",
            "{ paced = { moves_per_write = 6.0 } }",
            "\"law.py:Anyhow\"",
            "\"law.py:Never\"",
            "\"at_once\"",
        ]),
    );
    if draw.once_in(2) {
        let (after_us, least_stale) = (draw.one(&[0.0, 30.0, 5000.0]), draw.one(&[0.1, 0.6]));
        toml += &format!("gc_idle = {{ after_us = {after_us:?}, least_stale = {least_stale:?} }}\n");
    }
    toml
}

/// Answers at random.
struct Anyhow {
    stream: Stream,
    asked: u64,
}

impl Anyhow {
    fn new(device: &OwnDevice) -> Self {
        Self { stream: Stream::new(device.seed, Purpose::Workload), asked: 0 }
    }

    fn answer(&mut self) -> u64 {
        self.asked += 1;
        self.stream.bits(1 << 40, self.asked)
    }
}

impl PaceCollection for Anyhow {
    fn pace(&mut self, set: &PacedSet) -> Result<Pace> {
        assert!(set.free_blocks > set.reserve, "at the reserve nobody is asked");
        Ok(match self.answer() % 4 {
            0 => Pace::Pause,
            1 => Pace::PauseUs(1.0 + (self.answer() % 3000) as f64),
            _ => Pace::Go,
        })
    }
}

impl AdmitPages for Anyhow {
    fn admit(&mut self, page: &MissedPage) -> Result<bool> {
        assert!(page.misses > 0 && page.codewords > 0);
        Ok(self.answer().is_multiple_of(2))
    }
}

impl AdmitEntries for Anyhow {
    fn admit(&mut self, entry: &MissedEntry) -> Result<bool> {
        assert!(entry.misses > 0 && entry.codewords > 0);
        Ok(self.answer().is_multiple_of(2))
    }
}

/// Lets collection do nothing.
struct Never;

impl PaceCollection for Never {
    fn pace(&mut self, _: &PacedSet) -> Result<Pace> {
        Ok(Pace::Pause)
    }
}

/// What of a user's own a device names.
fn own(config: &CheckedConfig) -> Own {
    let mut own = Own::default();
    for (path, name) in config.own_names() {
        match (path, name.item()) {
            ("ftl.gc_pacing", "Never") => {
                own.pacing = Some(OwnThing::new("", |_: &OwnDevice| Ok(Box::new(Never) as Box<dyn PaceCollection>)));
            }
            ("ftl.gc_pacing", _) => {
                own.pacing = Some(OwnThing::new("", |device: &OwnDevice| Ok(Box::new(Anyhow::new(device)) as _)));
            }
            ("host.read_buffer.admission", _) => {
                own.pages = Some(OwnThing::new("", |device: &OwnDevice| Ok(Box::new(Anyhow::new(device)) as _)));
            }
            _ => own.entries = Some(OwnThing::new("", |device: &OwnDevice| Ok(Box::new(Anyhow::new(device)) as _))),
        }
    }
    own
}

/// Refresh and patrol scrub whose periods end within a run, which is some milliseconds long.
fn maintenance(draw: &mut Draw, iterations: bool, tables: bool) -> String {
    let mut toml = String::new();
    if draw.once_in(3) {
        toml += &format!("refresh.age_days = {:?}\ntime_scale = 1e9\n", draw.one(&[20.0, 40.0, 200.0]));
    }
    if draw.once_in(3) {
        let limit = match draw.below(4) {
            0 => String::new(),
            1 if iterations => ", refresh_above = { iterations = 2 }".to_owned(),
            2 if tables => ", refresh_above = { corrected_errors = { errors = 30, codeword_bits = 36864 } }".to_owned(),
            _ => ", refresh_above = { level = 1 }".to_owned(),
        };
        let period = if toml.is_empty() { draw.one(&["1e-6", "1e-5"]) } else { draw.one(&["20.0", "200.0"]) };
        toml += &format!(
            "scrub = {{ period_days = {period}, when = \"{}\"{limit} }}\n",
            draw.one(&["host_away", "always"])
        );
    }
    toml
}

/// Read reclaim with limits that a few reads reach.
fn read_reclaim(draw: &mut Draw, ways: u64, layers_differ: bool) -> String {
    if ways > 1 || draw.once_in(3) {
        return format!("read_reclaim.block.reads = {}\n", draw.one(&[1, 5, 20]));
    }
    let limits = if layers_differ && draw.once_in(2) { "20.0, 3.0" } else { draw.one(&["1.0", "9.0", "30.0"]) };
    let counters = if draw.once_in(2) { format!("counters = {}, ", draw.one(&[1, 2, 8])) } else { String::new() };
    format!(
        "read_reclaim.wordline = {{ effective_reads = [{limits}], {counters}pass_through_reduction = {:?} }}\n",
        draw.one(&[0.0, 0.05])
    )
}

/// Requests of a few units each, most of them to a few places.
fn requests(draw: &mut Draw, config: &CheckedConfig) -> Vec<Request> {
    let unit = u64::from(config.config().geometry.codeword_bytes);
    let user = config.user_bytes();
    let count = draw.one(&[20, 60, 200]);
    let hot = (user / draw.one(&[1, 4, 16])).max(unit);
    let spacing = draw.one(&[0, 2_000, 200_000]);
    // Where units cross pages, a page that is programmed in part would cut one for good.
    let may_flush = !config.layouts().iter().any(|layout| layout.crosses_pages());
    (0..count)
        .map(|index| {
            let kind = draw.one(&[
                RequestKind::Read,
                RequestKind::Read,
                RequestKind::Write,
                RequestKind::Write,
                RequestKind::Write,
                RequestKind::Write,
                RequestKind::Trim,
                RequestKind::FuaWrite,
                RequestKind::Flush,
            ]);
            let flushes = matches!(kind, RequestKind::Flush | RequestKind::FuaWrite);
            let kind = if flushes && !may_flush { RequestKind::Write } else { kind };
            if kind == RequestKind::Flush {
                return Request { arrival: Ns(index * spacing), kind, offset_bytes: 0, bytes: 0 };
            }
            // Now and then not in whole units.
            let grain = if draw.once_in(3) { 512.min(unit / 2) } else { unit };
            let bytes = (grain * (1 + draw.below(12))).min(hot);
            let offset_bytes = draw.below((hot - bytes) / grain + 1) * grain;
            Request { arrival: Ns(index * spacing), kind, offset_bytes, bytes }
        })
        .collect()
}

/// Some reads begin where the request before them ended, so that there is something to be read ahead of.
fn follow_one_another(draw: &mut Draw, user_bytes: u64, requests: &mut [Request]) {
    for index in 1..requests.len() {
        let before = requests[index - 1];
        let end_bytes = before.offset_bytes + before.bytes;
        let request = &mut requests[index];
        if before.bytes > 0 && request.bytes > 0 && end_bytes + request.bytes <= user_bytes && !draw.once_in(4) {
            *request = Request { kind: RequestKind::Read, offset_bytes: end_bytes, ..*request };
        }
    }
}

/// What has become of a unit.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    mapped_at_start: bool,
    written: bool,
    trimmed: bool,
    /// Whether the last of these was a write.
    last_written: bool,
}

fn check(toml: &str, config: &CheckedConfig, asked: Vec<Request>) {
    let unit = u64::from(config.config().geometry.codeword_bytes);
    let tenants = config.config().host.tenants.len();
    let one_by_one = toml.contains("queue_depth = 1\n") && tenants == 0;
    let mut units: HashMap<u64, Asked> = HashMap::new();
    let fresh: Simulation = support::simulation(config, Vec::new());
    for lcn in 0..config.user_codewords() {
        let mapped_at_start = fresh.ftl().locate(Lcn(lcn)) != Location::Unmapped;
        units.insert(lcn, Asked { mapped_at_start, ..Asked::default() });
    }
    let mut units_read = 0;
    for request in &asked {
        let end = request.offset_bytes + request.bytes;
        let touched = request.offset_bytes / unit..end.div_ceil(unit);
        match request.kind {
            RequestKind::Read => units_read += touched.end - touched.start,
            RequestKind::Flush => {}
            RequestKind::Write | RequestKind::FuaWrite => touched.for_each(|lcn| {
                let entry = units.get_mut(&lcn).unwrap();
                (entry.written, entry.last_written) = (true, true);
            }),
            RequestKind::Trim => (request.offset_bytes.div_ceil(unit)..end / unit).for_each(|lcn| {
                let entry = units.get_mut(&lcn).unwrap();
                (entry.trimmed, entry.last_written) = (true, false);
            }),
        }
    }
    let count = asked.len() as u64;
    let mut done = if tenants == 0 { support::simulation(config, asked) } else { support::by_turns(config, &asked) };
    // Somebody looks on, who changes nothing.
    done.record(Window { from: Ns(count * 500), to: Ns(count * 50_000) }, true);
    while done.advance(1_000_000).unwrap() {}
    let seen = done.take_recording().expect("somebody has looked on");
    let mut until: HashMap<(Resource, u32), Ns> = HashMap::new();
    for span in &seen.spans {
        let until = until.entry((span.resource, span.index)).or_default();
        assert!(span.from >= *until, "{span:?} overlaps what was done before");
        *until = span.to;
    }
    let statistics = done.statistics();
    assert_eq!(statistics.completed(), count, "every request completes");
    if tenants > 0 {
        let of_tenants = |of: fn(&TenantStatistics) -> u64| statistics.tenants.iter().map(of).sum::<u64>();
        assert_eq!(of_tenants(|tenant| tenant.completed()), count, "every request is a tenant's");
        assert_eq!(of_tenants(|tenant| tenant.uncorrectable), statistics.uncorrectable, "so is every codeword");
        assert_eq!(of_tenants(|tenant| tenant.codewords_read), statistics.codewords_read());
    }
    done.ftl().assert_consistent();
    done.ftl().assert_at_rest();
    let lost: HashSet<u64> = done.lost_codewords().iter().map(|lost| lost.lcn.0).collect();
    let may_lose = toml.contains("[power_loss]") && !config.config().host.write_buffer_power_protected;
    assert!(lost.is_empty() || may_lose && config.config().host.write_buffer_bytes > 0, "nothing else loses data");
    let read_only = statistics.read_only_from.is_some() || done.buffered_codewords() > 0;
    assert!(!read_only || done.ftl().shrinks(), "a device whose room stays refuses nothing");
    for (&lcn, entry) in &units {
        let mapped = match done.ftl().locate(Lcn(lcn)) {
            Location::Unmapped => false,
            Location::Flash(place) => {
                assert_eq!(done.ftl().owner(place), Some(Lcn(lcn)));
                let (group, number) = done.ftl().group_of(place);
                let slot = number % config.geometry().codewords_per_page();
                let room = done.ftl().layout(group.superblock).beginning_in(group.page);
                assert!(slot < room, "unit {lcn} is in slot {slot} of a page with room for {room}");
                true
            }
            Location::Memory(_) | Location::InFlight => {
                assert!(read_only, "unit {lcn} is still on its way after the end");
                true
            }
        };
        let could_be = entry.written || entry.mapped_at_start && !entry.trimmed;
        assert!(!mapped || could_be || entry.mapped_at_start && !one_by_one, "unit {lcn} came from nowhere: {entry:?}");
        let must_be = if one_by_one {
            if entry.written || entry.trimmed { entry.last_written } else { entry.mapped_at_start }
        } else {
            !entry.trimmed && could_be
        };
        assert!(mapped || !must_be || read_only || lost.contains(&lcn), "unit {lcn} was lost: {entry:?}");
    }
    if !toml.contains("[reliability.adaptive]") {
        let read = statistics.codewords_read() + statistics.codewords_from_controller + statistics.unmapped_codewords;
        assert_eq!(read, units_read + statistics.read_along_codewords, "every unit that is read comes from somewhere");
    }
    if let Some(scheduling) = &config.config().scheduling {
        let passed_over = done.schedule_counts().expect("there is a schedule").most_passed_over;
        assert!(passed_over <= scheduling.passed_over_at_most, "somebody was passed over {passed_over} times");
        let of_bus = done.bus_schedule_counts();
        assert_eq!(of_bus.is_some(), scheduling.bus, "buses are in the schedule where the config says so");
        let passed_over = of_bus.map_or(0, |counts| counts.most_passed_over);
        assert!(passed_over <= scheduling.passed_over_at_most, "a transfer was passed over {passed_over} times");
    }
    assert!(statistics.copied_pages <= statistics.moved_pages_programmed(), "what is copied is moved");
    if toml.contains("[ftl.parity]") && toml.contains("reliability = \"perfect\"") {
        let lost = statistics.uncorrectable + statistics.uncorrectable_in_background;
        assert_eq!(lost, 0, "one die that fails loses nothing where there is parity");
    }
    if let Some(bad) = done.ftl().bad_block_counts() {
        let (geometry, spec) = (config.geometry(), config.config().flash.bad_blocks.expect("it has bad blocks"));
        let superblocks = u64::from(geometry.sets() * geometry.blocks_per_plane()) - bad.retired;
        let found =
            bad.factory + bad.grown + bad.spares_left + superblocks * u64::from(geometry.blocks_per_superblock());
        let all = u64::from(geometry.planes() * (geometry.blocks_per_plane() + spec.spare_blocks_per_plane));
        let on_failed_dies = toml.contains("die_failures") && bad.retired > 0 && found < all;
        assert!(found == all || on_failed_dies, "{found} of {all} blocks are somewhere: {bad:?}");
    }
    let energy = &statistics.energy;
    assert_eq!(energy.total(), energy.reads + energy.writes + energy.background, "every energy has a purpose");
}

/// Is the summary of a part of a run one of that part, whatever is under way when it begins? Sums that are taken back from are where it could
/// not be, and overflow.
fn check_after_a_warm_up(toml: &str, config: &CheckedConfig) {
    let unit = config.config().geometry.codeword_bytes;
    let more = format!(
        "{toml}\n[workload]\nrequests = 40\nread_fraction = 0.7\nalign_bytes = {unit}\naddresses = \"uniform\"\n\
         sizes = [{{ bytes = {unit}, share = 0.8 }}, {{ bytes = {}, share = 0.2 }}]\n\
         arrivals.poisson.requests_per_s = 50_000.0\n[measurement]\nwarmup.requests = 40\n",
        4 * unit
    );
    let measured = CheckedConfig::from_toml(&more, "law.toml", &[]).expect("the same device takes a workload");
    let measured = measured.with_own(own(config)).expect("what is named is there");
    let mut run = Run::new(&measured, Requests::Workload, false).unwrap();
    while run.advance(1_000_000).unwrap() {}
    let summary = run.summary(false);
    let energy = summary.energy.total_uj;
    assert!((0.0..1e9).contains(&energy), "{energy} uJ");
    assert!(summary.requests >= 40, "{} requests: its own ones, and those under way before", summary.requests);
}

/// The outcome of a case: why its device is refused, if it is.
fn outcome(case: u64) -> Option<String> {
    let mut draw = Draw { stream: Stream::new(18, Purpose::Workload), case, next: 0 };
    let mut cache = Draw { stream: Stream::new(19, Purpose::Workload), case, next: 0 };
    let mut schedule = Draw { stream: Stream::new(23, Purpose::Workload), case, next: 0 };
    let mut memory = Draw { stream: Stream::new(40, Purpose::Workload), case, next: 0 };
    let mut dies = Draw { stream: Stream::new(20, Purpose::Workload), case, next: 0 };
    let mut care = Draw { stream: Stream::new(41, Purpose::Workload), case, next: 0 };
    let toml = device(&mut draw, &mut cache, &mut schedule, &mut memory, &mut dies, &mut care);
    if env::var("SOFTSENSE_LAW_CASE").is_ok() {
        println!("{toml}");
    }
    let config = match CheckedConfig::from_toml(&toml, "law.toml", &[]) {
        Ok(config) => {
            let own = own(&config);
            config.with_own(own).expect("what is named is there")
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("expected"), "case {case} is refused without a reason: {error}\n{toml}");
            return Some(error.split(": ").find(|part| part.contains('.') && !part.contains("law.toml"))?.to_owned());
        }
    };
    let mut asked = requests(&mut draw, &config);
    if toml.contains("read_ahead") {
        follow_one_another(&mut memory, config.user_bytes(), &mut asked);
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        check(&toml, &config, asked);
        if case.is_multiple_of(3) && config.config().host.tenants.is_empty() {
            check_after_a_warm_up(&toml, &config);
        }
    }));
    assert!(result.is_ok(), "case {case} failed, SOFTSENSE_LAW_CASE={case} repeats it:\n{toml}");
    None
}

#[test]
fn nothing_is_lost_whatever_is_combined() {
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text:?} is not a number"));
    let cases: Vec<u64> = match (env::var("SOFTSENSE_LAW_CASE"), env::var("SOFTSENSE_LAW_CASES")) {
        (Ok(case), _) => vec![number(&case)],
        (_, Ok(cases)) => {
            let (start, end) = cases.split_once("..").unwrap_or(("0", &cases));
            (number(start)..number(end)).collect()
        }
        _ => (0..CASES).chain(FOUND_MISTAKES).collect(),
    };
    let done = AtomicU64::new(0);
    let told = |case| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(50_000) {
            eprintln!("{done} of {} devices", cases.len());
        }
        outcome(case)
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let reasons: HashMap<String, u64> = thread::scope(|scope| {
        let work = |worker| cases.iter().copied().skip(worker as usize).step_by(workers as usize).filter_map(told);
        let count = |worker| {
            move || {
                work(worker).fold(HashMap::new(), |mut reasons: HashMap<String, u64>, reason| {
                    *reasons.entry(reason).or_default() += 1;
                    reasons
                })
            }
        };
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(count(worker))).collect();
        let counted = workers.into_iter().map(|worker| worker.join().expect("a case failed: see above"));
        counted.fold(HashMap::new(), |mut all, reasons| {
            reasons.into_iter().for_each(|(reason, count)| *all.entry(reason).or_default() += count);
            all
        })
    });
    let (all, refused) = (cases.len() as u64, reasons.values().sum::<u64>());
    println!("{all} devices, of which {refused} were refused: {reasons:?}");
    // Of fewer devices the share is off by chance: it is 10.6 % in the long run, most of them SLC caches and parity that leave too little room.
    assert!(all < 1_000 || refused * 8 < all, "{refused} of {all} were refused: {reasons:?}");
}
