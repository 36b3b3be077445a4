use super::*;
use crate::report::support;

fn matches(pattern: &str, text: &str) -> bool {
    Pattern::parse(pattern).unwrap().matches(text)
}

fn error(text: &str) -> String {
    Suppressions::parse("keirin.suppress.toml", text).unwrap_err().to_string()
}

fn apply(text: &str, findings: &mut [Finding]) -> Vec<String> {
    Suppressions::parse("s.toml", text).unwrap().apply(findings, "2026-06-01")
}

#[test]
fn patterns_match_whole_texts() {
    assert!(matches("Set.add", "Set.add"));
    assert!(!matches("Set", "Set.add"));
    assert!(matches("*", "") && matches("**", "x") && !matches("?", ""));
    assert!(matches("std::*::push", "std::vec::Vec::push"));
    assert!(matches("*a*b", "xaybzab") && !matches("*a*b", "xaybza"));
    assert!(matches("a\\*", "a*") && !matches("a\\*", "ab"));
    assert!(matches("??", "é漢"));
    assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
}

#[test]
fn mistakes_are_told_with_the_line_and_the_remedy() {
    let messages = [
        error("[[suppress]]\nregion = \"x\"\n"),
        error("\n[[suppress]]\nregion = \"x\"\nreason = \"  \"\n"),
        error("[[suppress]]\nreason = \"because\"\n"),
        error("[[suppress]]\nrule = \"atomicity-violation\"\nreason = \"because\"\n"),
        error("[[suppress]]\nregion = \"x\"\nreason = \"because\"\nfunktion = \"y\"\n"),
        error("[[suppress]]\nregion = 'x\\'\nreason = \"because\"\n"),
        error("[[suppress]]\nfunction = \"\"\nreason = \"because\"\n"),
        error("[[suppress]]\nrule = \"data-rice\"\nregion = \"x\"\nreason = \"because\"\n"),
        error("[[suppress]]\nregion = \"x\"\nreason = \"because\"\nexpires = \"2026-02-30\"\n"),
        error("[[suppress]]\nregion = 3\nreason = \"because\"\n"),
        error("region = \"x\"\n"),
        error("[[suppress\n"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn an_entry_matches_when_all_keys_do() {
    let matching = [
        "region = \"Set.*\"",
        "function = \"Vector.add\"",
        "function = \"Set.add\"",
        "file = \"src/*.java\"",
        "function = \"Vector.*\"\nfile = \"*/Vector.java\"",
        "variable = \"elements\"",
        "rule = \"atomicity-violation\"\nregion = \"*\"",
    ];
    for keys in matching {
        let mut findings = vec![support::set_add()];
        apply(&format!("[[suppress]]\n{keys}\nreason = \"known\"\n"), &mut findings);
        assert_eq!(findings[0].status, Status::Suppressed { reason: "known".into() }, "{keys}");
    }
    let others = [
        "region = \"Set\"",
        "function = \"Set.add\"\nfile = \"*/Vector.java\"",
        "variable = \"elements\"\nregion = \"nothing\"",
        "fingerprint = \"v1-0000000000000000\"",
    ];
    for keys in others {
        let mut findings = vec![support::set_add()];
        let notes = apply(&format!("[[suppress]]\n{keys}\nreason = \"known\"\n"), &mut findings);
        assert_eq!(findings[0].status, Status::Reported, "{keys}");
        assert!(notes[0].contains("matched nothing"), "{notes:?}");
    }
}

#[test]
fn broad_and_expired_entries_are_told() {
    let text = "[[suppress]]\nregion = \"*\"\nfile = \"?*\"\nreason = \"all\"\n\
                [[suppress]]\nregion = \"Set.add\"\nreason = \"old\"\nexpires = \"2026-05-31\"\n\
                [[suppress]]\nregion = \"Set.add\"\nreason = \"fresh\"\nexpires = \"2026-06-01\"\n";
    let mut findings = vec![support::set_add()];
    let notes = apply(text, &mut findings);
    assert_eq!(
        notes,
        [
            "s.toml:1: the suppression is too broad: its patterns match anything",
            "s.toml:5: the suppression expired after 2026-05-31 and was not used",
        ]
    );
    assert_eq!(findings[0].status, Status::Suppressed { reason: "all".into() });
}

#[test]
fn an_entry_that_matches_every_finding_is_told() {
    let mut findings = vec![support::set_add(), support::three(), support::blameless()];
    let notes = apply("[[suppress]]\nfunction = \"*n*\"\nreason = \"x\"\n", &mut findings);
    assert_eq!(notes, ["s.toml:1: the suppression is too broad: it matched all 3 findings"]);
}

#[test]
fn the_suggested_entry_suppresses_its_finding_alone() {
    for (index, _) in support::all().iter().enumerate() {
        let mut findings = support::all();
        let text = suggestion(&findings[index]);
        assert_eq!(apply(&text, &mut findings), [""; 0], "{text}");
        for (other, finding) in findings.iter().enumerate() {
            assert_eq!(finding.status != Status::Reported, other == index, "{text}");
        }
    }
}

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), (1970, 1, 1));
    assert_eq!(date(11_016), (2000, 2, 29));
    assert_eq!(date(19_782), (2024, 2, 29));
    assert_eq!(date(20_453), (2025, 12, 31));
    assert!(is_date(&today()));
    assert!(!is_date("2026-13-01") && !is_date("2026-1-1") && !is_date("soon"));
}
