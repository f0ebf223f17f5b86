use super::judge::Unit;
use super::*;

/// The capacity of 8,000/s, found to be this, with something else that runs or without.
fn found(outcome: Result<f64, String>, noisy: bool) -> Measured {
    let answer = ANSWERS.iter().find(|answer| answer.name == "capacity").unwrap();
    let outcome =
        outcome.map(|per_s| vec![Figure::about("sustained", Unit::PerS, 8000.0, 0.02, Some(per_s))]);
    let meanwhile = if noisy { vec!["other programs 80 % of a core".to_owned()] } else { Vec::new() };
    judge_all(answer, outcome, Noise { meanwhile, ..Noise::default() }, vec!["prony capacity URL".to_owned()])
}

#[test]
fn only_what_is_off_on_a_quiet_machine_fails() {
    assert_eq!(judged(&[found(Ok(7_960.0), false), found(Ok(7_000.0), true)]), Ok(()));
    let off = judged(&[found(Ok(7_960.0), false), found(Ok(7_000.0), false)]);
    assert_eq!(off, Err("capacity: sustained is off".to_owned()));
}

#[test]
fn what_could_not_be_measured_fails_on_a_quiet_machine_alone() {
    let nothing = || Err("prony capacity ended with exit status: 3".to_owned());
    assert_eq!(judged(&[found(nothing(), true)]), Ok(()));
    assert!(judged(&[found(nothing(), false)]).is_err_and(|why| why.contains("exit status: 3")));
}

#[test]
fn a_line_says_what_is_known_what_was_found_and_the_verdict() {
    let line = page::lines(&found(Ok(7_960.0), false));
    for part in
        ["sustained", "expected      8000/s", "found      7960/s", "-0.5 %", "within", "the machine: quiet"]
    {
        assert!(line.contains(part), "{part:?} is missing: {line}");
    }
    let line = page::lines(&found(Ok(7_000.0), true));
    for part in ["7000/s", "-12.5 %", "too noisy to tell", "meanwhile: other programs 80 % of a core"] {
        assert!(line.contains(part), "{part:?} is missing: {line}");
    }
}

#[test]
fn the_page_has_a_row_per_figure_and_a_line_per_reason() {
    let answers =
        vec![found(Ok(7_960.0), false), found(Ok(7_000.0), true), found(Err("a|b\nc".to_owned()), true)];
    let page = page::page(&page::without_a_doctor(answers));
    let row = "| the capacity of a target of 8,000/s | sustained | 8000/s | 7840/s to 8160/s |";
    for part in [
        format!("{row} 7960/s | -0.5 % | within |").as_str(),
        format!("{row} 7000/s | -12.5 % | too noisy to tell |").as_str(),
        "| nothing was measured: a b c |",
        "**1 within, 0 off, 1 too noisy to tell, 1 not measured.**",
        "# capacity\nprony capacity URL",
    ] {
        assert!(page.contains(part), "{part:?} is missing:\n{page}");
    }
}

#[test]
fn the_line_is_read() {
    let read = |line: &str| Asked::try_parse_from(["truth"].into_iter().chain(line.split_whitespace()));
    assert_eq!(read("").unwrap(), Asked { store: false, quick: false, only: Vec::new() });
    let quick = Asked { store: false, quick: true, only: vec!["fixed".to_owned(), "even".to_owned()] };
    assert_eq!(read("--quick --only fixed,even").unwrap(), quick);
    assert!(read("--store").unwrap().store);
    for wrong in ["--quik", "--only", "--only fixt", "--store --quick", "--store --only even"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
