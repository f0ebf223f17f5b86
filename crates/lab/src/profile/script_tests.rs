//! Outputs of perf 6.1, shortened; and what no perf prints.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;

fn folded(text: &str) -> Profile {
    fold(text.as_bytes(), 0..u64::MAX).unwrap()
}

/// `count outermost;…;innermost` of each stack.
fn stacks(profile: &Profile) -> Vec<String> {
    profile.counted().map(|(count, stack)| format!("{count} {}", stack.join(";"))).collect()
}

const C: &str = "\
  380.883425123:    1003009 cpu-clock: \n\
\t            1154 burn (/srv/app)\n\
\t            11aa main (/srv/app)\n\
\n\
  380.884425123:    1003009 cpu-clock: \n\
\t            1154 burn.constprop.0 (/srv/app)\n\
\t            11aa main (/srv/app (deleted))\n\
\n\
  381.000000000:    1003009 cpu-clock: \n\
\tffffffff8100abcd finish_task_switch.isra.0 ([kernel.kallsyms])\n\
\tffffffff8100abce [unknown] ([kernel.kallsyms])\n\
\t    7f0000000001 [unknown] (/usr/lib/libssl.so.3)\n\
\t    7f0000000002 [unknown] ([unknown])\n\
\t    7f0000000003 [unknown] ([unknown])\n\
\n";

#[test]
fn stacks_are_counted_from_the_outermost_function() {
    let found = folded(C);
    assert_eq!((found.samples, found.cpu_ns, found.event.as_str()), (3, 3_009_027, "cpu-clock"));
    let kernel = "1 [unknown];[libssl.so.3];[kernel];finish_task_switch.isra.0 [kernel]";
    let mut all = stacks(&found);
    all.sort_unstable();
    assert_eq!(all, [kernel, "2 main;burn"]);
}

#[test]
fn samples_outside_of_the_window_are_left_out() {
    let found = fold(C.as_bytes(), 380_884_425_123..381_000_000_000).unwrap();
    assert_eq!((found.samples, stacks(&found)), (1, vec!["1 main;burn".to_owned()]));
    assert_eq!(fold(C.as_bytes(), 0..1).unwrap(), Profile::default());
}

#[test]
fn a_function_has_one_name_in_two_builds_and_places() {
    let of = |symbol: &str| name(symbol, "/srv/app");
    assert_eq!(name("py::burn:/tmp/base/server.py", "/tmp/perf-7.map"), "burn (server.py)");
    assert_eq!(name("JS:*burn /tmp/base/server.js:3:14", "/tmp/perf-7.map"), "burn (server.js)");
    assert_eq!(name("JS:~burn file:///srv/server.mjs:9:1", "/tmp/perf-7.map"), "burn (server.mjs)");
    assert_eq!(name("LazyCompile:* /srv/server.js:1:1", "/tmp/perf-7.map"), "(anonymous) (server.js)");
    assert_eq!(name("[unknown]", "/tmp/perf-7.map"), "[unknown]");
    assert_eq!(of("burn.isra.0.cold"), "burn");
    assert_eq!(of("main.(*Server).burn"), "main.(*Server).burn");
    assert_eq!(of("runtime.goexit.abi0"), "runtime.goexit.abi0");
    let long = of(&"é".repeat(1_000));
    assert!(long.len() <= NAME_MAX_BYTES && !long.is_empty());
    assert!(!of("f(token=s3cret)").contains("s3cret") && !of("a\u{1b}[2J").contains('\u{1b}'));
}

#[test]
fn names_may_have_brackets_and_a_sample_no_callers() {
    let text = "1.000000001: 5 cpu-clock:u: 1154 f(int (*)(long)) const (/srv/a b (deleted))\n\
                1.000000002: 5 cpu-clock:u: \n\n";
    let found = folded(text);
    assert_eq!((found.event.as_str(), found.samples), ("cpu-clock:u", 2));
    let mut all = stacks(&found);
    all.sort_unstable();
    assert_eq!(all, ["1 [unknown]", "1 f(int (*)(long)) const"]);
}

#[test]
fn what_is_no_output_of_perf_is_an_error_that_shows_it() {
    for wrong in [
        "Segmentation fault",
        "1.5: 5 cpu-clock:",
        "x.000000001: 5 cpu-clock:",
        "1.000000001: many cpu-clock:",
        "99999999999999999999.000000001: 5 cpu-clock:",
        "\tzz burn (/srv/app)",
        "\t12 burn",
    ] {
        let text = format!("1.000000001: 5 cpu-clock:\n{wrong}\u{1b}\n");
        let why = fold(text.as_bytes(), 0..u64::MAX).unwrap_err();
        assert!(why.starts_with("Line 2 of what `perf script` prints is no sample: "), "{why}");
        assert!(!why.contains('\u{1b}'), "{why}");
    }
}

#[test]
fn functions_and_stacks_are_bounded_whatever_is_printed() {
    let many: String = (0..FRAMES_MAX + 100)
        .map(|i| format!("1.000000001: 5 cpu-clock:\n\t12 f{i} (/srv/app)\n\n"))
        .collect();
    let found = folded(&many);
    assert_eq!(found.samples, (FRAMES_MAX + 100) as u64);
    assert_eq!(found.counted().map(|(count, _)| count).sum::<u64>(), found.samples);
    assert!(found.frames.len() <= FRAMES_MAX && found.stacks.len() <= STACKS_MAX);
    assert!(found.frames.contains(&OTHERS.to_owned()));
    let deep: String = (0..1_000).map(|i| format!("\t12 f{i} (/srv/app)\n")).collect();
    let found = folded(&format!("1.000000001: 5 cpu-clock:\n{deep}"));
    let (_, stack) = found.counted().next().unwrap();
    assert_eq!((stack.len(), *stack.last().unwrap()), (DEPTH_MAX, "f0"), "the innermost stay");
    let line =
        format!("1.000000001: 5 cpu-clock:\n\t12 {} (/srv/app)\n\t12 main (/srv/app)\n", "f".repeat(70_000));
    assert!(
        fold(BufReader::with_capacity(64, line.as_bytes()), 0..u64::MAX).is_err(),
        "a cut line has no file"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_profile_that_can_be_stored_or_an_error(
        lines in proptest::collection::vec(
            prop_oneof![
                "[0-9]{1,3}\\.[0-9]{9}: [0-9]{1,9} cpu-clock:( 12 f \\(/a\\))?",
                "\t[0-9a-f]{1,8} [a-z:.*() ]{1,12} \\((/[a-z]{1,3}|\\[[a-z]{1,8}\\]?)\\)",
                "\\PC{0,40}",
                "",
            ],
            0..40,
        ),
    ) {
        let found = fold(lines.join("\n").as_bytes(), 0..u64::MAX);
        if let Ok(found) = found {
            let counted: u64 = found.counted().map(|(count, _)| count).sum();
            prop_assert_eq!(counted, found.samples);
            prop_assert!(found.stacks.iter().all(|s| s[1..].iter().all(|at| (*at as usize) < found.frames.len())));
        }
    }
}
