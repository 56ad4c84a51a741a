//! Modules of this crate stand above one another, and import from below only: what Cargo enforces among crates, this test does
//! within one.

use std::fs;
use std::path::{Path, PathBuf};

/// All modules, the lowest first. One that is not named belongs to the one that it is in.
const ORDER: [&str; 76] = [
    "events",
    "recency",
    "request",
    "slab",
    "workload",
    "trace",
    "config::duration",
    "config::admission",
    "config::spread",
    "config::issue",
    "config::host_link",
    "config::tenants",
    "config::geometry",
    "config::rounds",
    "config::scheduling",
    "config::failures",
    "config::copyback",
    "config::bad_blocks",
    "config::flash",
    "config::bus",
    "config::decoder",
    "config::encoder",
    "config::interconnect",
    "config::interleaving",
    "config::mapping",
    "config::read_reclaim",
    "config::maintenance",
    "config::slc_cache",
    "config::gc_pacing",
    "config::parity",
    "config::ftl",
    "config::energy",
    "config::dram",
    "config::read_ahead",
    "config::write_buffer",
    "config::host",
    "config::power_loss",
    "config::precondition",
    "config::shipped",
    "config",
    "config::set",
    "config::read",
    "own",
    "geometry",
    "start_ages",
    "format",
    "checked",
    "design",
    "ftl",
    "simulation::power",
    "simulation::owners",
    "simulation::growth",
    "simulation::statistics",
    "simulation::lane",
    "simulation::dram",
    "simulation::kernel",
    "simulation::idle",
    "simulation::back_end",
    "simulation::medium",
    "simulation::admission",
    "simulation::translation",
    "simulation::read_buffer",
    "simulation::read_ahead",
    "simulation::device",
    "simulation::write_path",
    "simulation::arbiter",
    "simulation::queue",
    "simulation::host_link",
    "simulation::host",
    "simulation",
    "tenants",
    "summary",
    "series",
    "run",
    "timeline",
    "trace_events",
];

/// Where a module, or an item in it, stands in the order.
fn rank(path: &[String]) -> Option<usize> {
    (1..=path.len()).rev().find_map(|length| {
        let module = path[..length].join("::");
        ORDER.iter().position(|name| *name == module)
    })
}

/// All source files below a folder, with the modules that they are.
fn modules(folder: &Path, within: &[String]) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module: Vec<String> = within.iter().cloned().chain([stem.clone()]).collect();
        if path.is_dir() {
            found.extend(modules(&path, &module));
        } else {
            found.push((path, if stem == "mod" { within.to_vec() } else { module }));
        }
    }
    found
}

/// The code of a file: neither comments, which may name anything, nor tests, which may use anything.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod ").next().unwrap();
    before_tests.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The paths in the code of a module that begin with `crate`, `super` or a module within it.
fn imports(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words: Vec<&str> = code.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let within: Vec<&str> = words.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1]).collect();
    let mut found = Vec::new();
    for path in words.iter().filter(|word| word.contains("::")) {
        let parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
        let ups = parts.iter().take_while(|part| **part == "super").count();
        if ups == parts.len() {
            // Who may see an item, as in `pub(in super::super)`.
            continue;
        }
        let base = match parts.first() {
            Some(&"crate") => &module[..0],
            Some(&"super") => &module[..module.len() - ups],
            Some(name) if within.contains(name) => module,
            _ => continue,
        };
        let rest = parts.iter().skip(if parts[0] == "crate" { 1 } else { ups });
        found.push(base.iter().cloned().chain(rest.map(ToString::to_string)).collect());
    }
    found
}

#[test]
fn modules_import_from_below_only() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (path, module) in modules(&sources, &[]) {
        if module == ["lib"] {
            continue;
        }
        let name = path.strip_prefix(&sources).unwrap().display().to_string();
        let Some(own) = rank(&module) else {
            wrong.push(format!(
                "{name}: found a module that is not in ORDER, expected every module to have its place there"
            ));
            continue;
        };
        for import in imports(&code(&fs::read_to_string(&path).unwrap()), &module) {
            seen += 1;
            match rank(&import) {
                Some(used) if used <= own => {}
                Some(used) => {
                    let (own, used, import) = (ORDER[own], ORDER[used], import.join("::"));
                    wrong.push(format!("{name}: found `{import}` of `{used}`, expected no module above `{own}`"));
                }
                None => {
                    wrong.push(format!("{name}: found `{}`, expected a path that names a module", import.join("::")))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 50, "found {seen} imports only: does the test still read them?");
}

/// Does the test see what it looks for, however it is written?
#[test]
fn imports_are_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let text = "use crate::run::{Run, Requests};\n// crate::no\nmod child;\npub use child::X;\nuse super::set::{self};\n\
                fn f() -> crate::ftl::Lcn {}\nuse super::Config;\n#[cfg(test)]\nmod tests { use crate::summary; }\n";
    let found = imports(&code(text), &path("config::host"));
    let expected = ["run", "config::host::child::X", "config::set", "ftl::Lcn", "config::Config"].map(path);
    assert_eq!(found, expected);
    assert_eq!(rank(&path("config::host::child::X")), rank(&path("config::host")));
    assert!(rank(&path("config::Config")) > rank(&path("config::host")));
    assert_eq!(rank(&path("nowhere")), None);
}
