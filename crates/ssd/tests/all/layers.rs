//! Modules stand above one another, and import from below only: what Cargo enforces among crates, this test does within each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates of which no two modules import from one another. Most others have such pairs, inside one folder.
const CRATES: [&str; 3] = ["requests", "config", "ssd"];

/// Folders in which each file, and each folder, is a room of its own. Any other top module is one room with all that is in it.
const OF_ROOMS: [&str; 2] = ["spec", "simulation"];

/// Files of such folders that hold methods of `Simulation` itself.
const OF_SIMULATION: [&str; 2] = ["measuring", "recorder"];

/// The room that an item is in; the root of a crate is one, too.
fn room<'a>(path: &[String], rooms: &'a BTreeSet<Vec<String>>) -> &'a Vec<String> {
    (0..=depth(path)).rev().find_map(|length| rooms.get(&path[..length])).expect("the root is a room")
}

/// How many names of a path name its room, at most.
fn depth(path: &[String]) -> usize {
    match path {
        [top, inner, ..] if OF_ROOMS.contains(&&**top) && !OF_SIMULATION.contains(&&**inner) => 2,
        _ => path.len().min(1),
    }
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

/// The rooms that are on a circle of imports, or above one, each with what it uses of them; and the number of imports.
fn circles(sources: &Path) -> (Vec<String>, usize) {
    let mut files = modules(sources, &[]);
    files.iter_mut().filter(|(_, module)| *module == ["lib"]).for_each(|(_, module)| module.clear());
    let rooms = files.iter().map(|(_, module)| module[..depth(module)].to_vec()).collect();
    let mut below: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    let mut seen = 0;
    for (path, module) in &files {
        let own = room(module, &rooms);
        let under = below.entry(own).or_default();
        for import in imports(&code(&fs::read_to_string(path).unwrap()), module) {
            seen += 1;
            under.extend(Some(room(&import, &rooms)).filter(|&used| used != own));
        }
    }
    // Takes away what stands on nothing that is left, until nothing does.
    while let Some(free) = below.iter().find(|(_, under)| under.is_empty()).map(|(&room, _)| room) {
        below.remove(free);
        below.values_mut().for_each(|under| _ = under.remove(free));
    }
    let name = |room: &Vec<String>| if room.is_empty() { "the root".to_owned() } else { room.join("::") };
    let told = |(room, under): (&&Vec<String>, &BTreeSet<&Vec<String>>)| {
        format!("{} uses {}", name(room), under.iter().map(|room| name(room)).collect::<Vec<_>>().join(", "))
    };
    (below.iter().map(told).collect(), seen)
}

#[test]
fn modules_import_from_below_only() {
    let mut all = 0;
    for name in CRATES {
        let (found, seen) = circles(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"));
        assert!(
            found.is_empty(),
            "{name}: found modules that use one another, expected an order:\n{}",
            found.join("\n")
        );
        all += seen;
    }
    assert!(all > 50, "found {all} imports only: does the test still read them?");
}

/// Does the test see what it looks for, however it is written?
#[test]
fn imports_are_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let text = "use crate::run::{Run, Requests};\n// crate::no\nmod child;\npub use child::X;\nuse super::set::{self};\n\
                fn f() -> crate::ftl::Lcn {}\nuse super::Config;\n#[cfg(test)]\nmod tests { use crate::summary; }\n";
    let found = imports(&code(text), &path("spec::host"));
    let expected = ["run", "spec::host::child::X", "spec::set", "ftl::Lcn", "spec::Config"].map(path);
    assert_eq!(found, expected);
    let rooms = ["", "ftl", "spec", "spec::host"].map(|text| if text.is_empty() { vec![] } else { path(text) }).into();
    let of = |text: &str| room(&path(text), &rooms).join("::");
    assert_eq!(
        ["spec::host::child::X", "spec::Config", "ftl::deep::X", "Request"].map(of),
        ["spec::host", "spec", "ftl", ""]
    );
}

/// Does the test say so when there is a circle?
#[test]
fn a_circle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "lib.rs",
        "mod a;
mod b;
mod c;
",
    );
    write(
        "a.rs",
        "use crate::b::B;
",
    );
    write(
        "b.rs",
        "use super::c::C;
",
    );
    write(
        "c.rs",
        "fn c() {}
",
    );
    assert_eq!(circles(folder.path()), (vec![], 2));
    write(
        "c.rs",
        "use crate::a::A;
",
    );
    assert_eq!(circles(folder.path()).0, ["a uses b", "b uses c", "c uses a"]);
}
