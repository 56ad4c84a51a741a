//! Messages of libraries in words for people.

/// How many letters must be put in, taken out or changed to make `a` of `b`, whatever their case.
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

/// How far a known name is from what somebody wrote: the least is what was probably meant. What a name begins with may be all
/// that somebody typed.
pub fn distance(written: &str, known: &str) -> (bool, usize) {
    (!(written.len() >= 3 && known.starts_with(written)), edits(written, known))
}

/// What a deserializer says, in words for people and on one line: types by what they hold instead of by their names in Rust, and
/// of names that are not known the nearest one that is.
pub fn plain(message: &str) -> String {
    let message = message.replace('\n', " ");
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|head| message.strip_prefix(head));
    let text = match found.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("found {}, expected {}", value(found), kind(expected)),
        None => message,
    };
    match nearest(&text) {
        Some(name) => format!("{text}; did you mean `{name}`?"),
        None => text,
    }
}

/// A value as a deserializer shows it.
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

/// What a deserializer expects.
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

/// Of the names that "unknown field `x`, expected one of `y`, `z`" lists the one that was probably meant.
fn nearest(message: &str) -> Option<&str> {
    let known = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))?;
    let (name, rest) = known.split_once('`')?;
    let names = rest.strip_prefix(", expected one of ")?.split(", ").map(|each| each.trim_matches('`'));
    let best = names.min_by_key(|known| distance(name, known))?;
    let (other, distance) = distance(name, best);
    // Names as far apart as one is long have nothing in common.
    (!other || 3 * distance <= name.len().max(3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is every message of a deserializer one that does not need Rust to be understood?
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
                "unknown variant `lru`, expected one of `greedy`, `fifo`",
            ),
            (
                "unknown field `over`, expected one of `mapping`, `over_provisioning`",
                "unknown field `over`, expected one of `mapping`, `over_provisioning`; did you mean `over_provisioning`?",
            ),
        ] {
            assert_eq!(plain(said), expected);
        }
    }

    #[test]
    fn edits_are_the_fewest() {
        for (a, b, expected) in [("", "", 0), ("ldpc", "LDPC", 0), ("kitten", "sitting", 3), ("", "abc", 3)] {
            assert_eq!(edits(a, b), expected);
            assert_eq!(edits(b, a), expected);
        }
    }
}
