use super::*;
use crate::fixtures;

#[test]
fn hostile_texts_stay_texts() {
    assert_eq!(text("a|b\nc"), r"a\|b c");
    assert_eq!(text("<script>&`x`"), r"&lt;script&gt;&amp;\`x\`");
    assert_eq!(text("@everyone see http://evil.example"), r"@<!-- -->everyone see http\://evil.example");
    assert_eq!(text("[a](b) amphp:jit+ev"), r"\[a\](b) amphp:jit+ev");
    assert_eq!(code("a `b` ``c``"), "``` a `b` ``c`` ```");
}

#[test]
fn every_line_of_a_table_has_as_many_cells() {
    let out = experiment(&fixtures::hostile());
    let bars = |line: &str| line.replace(r"\|", "").matches('|').count();
    let counts: Vec<usize> = out.lines().filter(|l| l.starts_with('|')).map(bars).collect();
    assert!(counts.len() >= 3 && counts.iter().all(|n| *n == counts[0]), "{out}");
}

#[test]
fn a_run_for_a_pull_request() {
    insta::assert_snapshot!(experiment(&fixtures::hostile()), @"MDEXP");
}

#[test]
fn a_trial_for_a_pull_request() {
    insta::assert_snapshot!(trial(&fixtures::doubtful()), @"MDTRIAL");
}

#[test]
fn a_broken_trial_says_so_with_its_errors() {
    insta::assert_snapshot!(trial(&fixtures::broken()), @"MDBROKEN");
}
