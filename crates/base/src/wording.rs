//! Spellings of names that people write, and messages of libraries turned into plain words.

use std::path::Path;

/// The form of a name that is compared: `flash-8/9`, `flash-8-9` and `Flash_8_9` are one.
fn spelled(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '/' | '_' | ' ') { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The name of `known` that was written, in any spelling: with another of `/`, `-` and `_`, or with other capitals. None if there is no
/// such name, or several.
pub fn spelled_like<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = spelled(written);
    let mut found = None;
    for name in known {
        if name == written {
            return Some(name);
        }
        if spelled(name) == wanted {
            // Two names that differ in nothing else have to be written exactly.
            found = if found.is_none() { Some(Some(name)) } else { Some(None) };
        }
    }
    found.flatten()
}

/// The own name of the shipped thing that was written. If there is no such thing, or if another spelling is a file in `directory`, the
/// written text is returned.
pub fn canonical<'w, 's: 'w>(
    written: &'w str,
    shipped: impl IntoIterator<Item = &'s str>,
    directory: &Path,
) -> &'w str {
    match spelled_like(written, shipped) {
        Some(name) if name == written || !directory.join(written).exists() => name,
        _ => written,
    }
}

/// The most characters of a name that may have been meant for another.
const LONGEST_NAME: usize = 200;

/// The number of letters to insert, to delete or to change so that `a` becomes `b`, whatever their case.
///
/// Source: V. Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", 1966.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, letter) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, &other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != other);
            diagonal = row[at + 1];
            row[at + 1] = change.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[b.len()]
}

/// The distance of a known name from the text that was written; the nearest name was probably meant. A text that is the beginning of a
/// name is near, because it may be all that was typed.
pub fn distance(written: &str, known: &str) -> (bool, usize) {
    // No name is this long, and the time to compare two texts is the product of their lengths.
    if written.len() > LONGEST_NAME {
        return (true, written.len());
    }
    (!(written.len() >= 3 && known.starts_with(written)), edits(written, known))
}

/// The message of a deserializer in plain words on one line. Types are described by their values, not by their names in Rust. For a name
/// that is not known the message has the nearest known name.
pub fn plain(message: &str) -> String {
    let message = message.replace('\n', " ");
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|head| message.strip_prefix(head));
    let text = match found.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("found {}, expected {}", value(found), kind(expected)),
        None => message,
    };
    let meant = unknown_name(&text).and_then(|(name, known)| nearest(name, known));
    let hint = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    match text.strip_prefix("unknown variant ") {
        Some(rest) => format!("found {rest}{hint}"),
        None => text + &hint,
    }
}

/// A value, from the way in which a deserializer shows it.
fn value(shown: &str) -> String {
    for (head, word) in
        [("floating point ", ""), ("integer ", ""), ("boolean ", ""), ("sequence", "a list"), ("map", "a table")]
    {
        if let Some(rest) = shown.strip_prefix(head) {
            return format!("{word}{}", rest.replace('`', ""));
        }
    }
    shown.to_owned()
}

/// The type that a deserializer expects, in plain words.
fn kind(expected: &str) -> String {
    match expected {
        "f64" | "f32" => "a number".to_owned(),
        "i64" | "i32" => "a whole number".to_owned(),
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number from 0".to_owned(),
        "bool" | "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        _ if expected.starts_with("struct ") => "a table".to_owned(),
        _ if expected.ends_with("enum") || expected.starts_with("enum ") => {
            "a name, or a table of one field".to_owned()
        }
        _ => expected.to_owned(),
    }
}

/// The unknown name and the known names of a deserializer's message: "unknown field `x`, expected one of `y`, `z`".
pub fn unknown_name(message: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let known = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))?;
    let (name, rest) = known.split_once('`')?;
    let rest = rest.strip_prefix(", expected ")?;
    let names = rest.strip_prefix("one of ").unwrap_or(rest);
    // Two known names are written as "`y` or `z`".
    Some((name, names.split([',', ' ']).filter_map(|each| each.strip_prefix('`')?.strip_suffix('`'))))
}

/// The known name that was probably meant; none if all are far from `name`.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let best = known.into_iter().min_by_key(|known| distance(name, known))?;
    let (other, distance) = distance(name, best);
    // Names that differ in more than a third of their letters have too little in common.
    (!other || 3 * distance <= name.len().max(3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Can every message of a deserializer be understood without Rust?
    #[test]
    fn messages_are_for_people() {
        for (said, expected) in [
            ("invalid type: string \"x\", expected f64", "found string \"x\", expected a number"),
            ("invalid type: floating point `3.5`, expected u64", "found 3.5, expected a whole number from 0"),
            ("invalid type: integer `3`, expected a string", "found 3, expected a string"),
            ("invalid type: map, expected a sequence", "found a table, expected a list"),
            ("invalid type: sequence, expected struct Geometry", "found a list, expected a table"),
            ("invalid type: boolean `true`, expected string or table", "found true, expected string or table"),
            (
                "invalid value: integer `4294967296`, expected u32",
                "found 4294967296, expected a whole number from 0 to 4294967295",
            ),
            ("missing field `rber`", "missing field `rber`"),
            (
                "unknown field `erase_u`, expected one of `page_types`, `erase_us`",
                "unknown field `erase_u`, expected one of `page_types`, `erase_us`; did you mean `erase_us`?",
            ),
            (
                "unknown variant `lru`, expected one of `greedy`, `fifo`",
                "found `lru`, expected one of `greedy`, `fifo`",
            ),
            (
                "unknown field `fifi`, expected `greedy` or `fifo`",
                "unknown field `fifi`, expected `greedy` or `fifo`; did you mean `fifo`?",
            ),
            (
                "unknown field `over`, expected one of `mapping`, `over_provisioning`",
                "unknown field `over`, expected one of `mapping`, `over_provisioning`; did you mean `over_provisioning`?",
            ),
        ] {
            assert_eq!(plain(said), expected);
        }
    }

    /// Is a name the same with other separators, and never one of two names?
    #[test]
    fn spellings_are_one_name() {
        let known = ["flash-8/9", "tlc-2-3-2", "look_ahead", "a-b", "a_b"];
        for (written, expected) in [
            ("flash-8-9", Some("flash-8/9")),
            ("flash_8_9", Some("flash-8/9")),
            ("TLC_2_3_2", Some("tlc-2-3-2")),
            ("look-ahead", Some("look_ahead")),
            ("a_b", Some("a_b")),
            ("a/b", None),
            ("flash-89", None),
        ] {
            assert_eq!(spelled_like(written, known), expected, "{written}");
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(canonical("CARGO.toml", ["cargo.toml"], here), "cargo.toml", "no file is called so");
        assert_eq!(canonical("Cargo.toml", ["cargo.toml"], here), "Cargo.toml", "a file is");
    }

    #[test]
    fn edits_are_the_fewest() {
        for (a, b, expected) in [("", "", 0), ("ldpc", "LDPC", 0), ("kitten", "sitting", 3), ("", "abc", 3)] {
            assert_eq!(edits(a, b), expected);
            assert_eq!(edits(b, a), expected);
        }
    }
}
