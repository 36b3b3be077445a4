//! The location field of a line: `[function@]path:line[:column]`, or any other text.

/// A position in a source file, as its text tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position<'a> {
    /// Empty if none is told.
    pub(super) function: &'a str,
    pub(super) path: &'a str,
    pub(super) line: u32,
    /// 0 if none is told.
    pub(super) column: u32,
}

/// Reads a position. Whatever does not look exactly as we would write it is none: then it is kept as it stands, and
/// two texts never become one place.
pub(super) fn position(text: &str) -> Option<Position<'_>> {
    let (function, rest) = text.split_once('@').unwrap_or(("", text));
    if function.is_empty() && rest.len() != text.len() && !rest.contains('@') {
        return None;
    }
    let (front, last) = rest.rsplit_once(':')?;
    let last = number(last)?;
    let (path, line, column) = match front.rsplit_once(':').map(|(path, line)| (path, number(line))) {
        Some((path, Some(line))) if !path.is_empty() => (path, line, last),
        _ => (front, last, 0),
    };
    let trimmed = function.trim_end_matches([' ', '\t', '\r']).len() == function.len()
        && path.trim_start_matches([' ', '\t', '\r']).len() == path.len();
    (!path.is_empty() && trimmed).then_some(Position { function, path, line, column })
}

/// A positive decimal number without leading zeros.
pub(super) fn number(text: &str) -> Option<u32> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        let at = |function, path, line, column| Some(Position { function, path, line, column });
        assert_eq!(position("a.c:12"), at("", "a.c", 12, 0));
        assert_eq!(position("a.c:12:3"), at("", "a.c", 12, 3));
        assert_eq!(position("main@src/a b.c:12:3"), at("main", "src/a b.c", 12, 3));
        assert_eq!(position("@x@1/a.c:12"), at("", "x@1/a.c", 12, 0));
        assert_eq!(position(r"C:\a.c:12"), at("", r"C:\a.c", 12, 0));
        for label in [
            "12",
            "",
            "a.c:0",
            "a.c:012",
            "a.c:x",
            ":12",
            "f@:12",
            "a.c:99999999999",
            "@a.c:1",
            "f@a",
            "a:-1",
            "a:+1",
        ] {
            assert_eq!(position(label), None, "{label}");
        }
    }
}
