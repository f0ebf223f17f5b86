//! The view on a terminal of its own: it comes, it goes, and what it leaves is what was there.

use nix::sys::signal::Signal;
use rustix::termios::tcsetwinsize;

use crate::terminal::{ENTER, LEAVE, OnTerminal, frames, winsize};
use crate::world::{BINARY, TargetProcess, World, interrupt, send, treats};

/// What stands on the terminal's own screen: before the view came, and after it had gone.
fn around(seen: &str) -> (String, String) {
    assert_eq!((seen.matches(ENTER).count(), seen.matches(LEAVE).count()), (1, 1), "{seen:?}");
    let (before, rest) = seen.split_once(ENTER).unwrap();
    let (view, after) = rest.split_once(LEAVE).unwrap();
    assert!(view.contains("\x1b[?25l") && view.ends_with("\x1b[?25h"), "the cursor: {view:?}");
    (before.to_owned(), after.to_owned())
}

/// A text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    first + &rest.collect::<String>()
}

/// Whether any frame of the view showed this.
fn showed(seen: &str, words: &str) -> bool {
    frames(seen).iter().any(|frame| frame.contains(words))
}

/// A load of 200 requests a second that somebody has to end.
fn endless(url: &str) -> [&str; 8] {
    ["load", url, "-R", "200", "-d", "600s", "--warmup", "100ms"]
}

#[test]
fn a_result_is_printed_after_the_view() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = ["load", &target.url(), "-R", "200", "-d", "1500ms", "--warmup", "100ms"];
    let terminal = OnTerminal::start(&world, (80, 24), &line, &[]);
    let (code, seen) = terminal.end();
    let (before, after) = around(&seen);
    assert_eq!((code, before.as_str()), (Some(0), ""), "{seen:?}");
    // The result's first line, the table and the next command: the output's contract.
    let after = plain(&after);
    for words in ["req/s", "p99", "service", "due 300", "by status  200: ", "client's own delay"] {
        assert!(after.contains(words), "{words:?}: {after:?}");
    }
    assert!(!after.contains("Ctrl-C"), "{after:?}");
}

#[test]
fn ctrl_c_and_q_stop_the_load_and_restore_the_terminal() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    for key in [b"\x03", b"q"] {
        let mut terminal = OnTerminal::start(&world, (80, 24), &endless(&target.url()), &[]);
        terminal.wait_for("the window", |seen| showed(seen, "mean "));
        terminal.type_in(key);
        let (code, seen) = terminal.end();
        let (_, after) = around(&seen);
        assert_eq!(code, Some(130), "{seen:?}");
        assert!(after.contains("INTERRUPTED"), "{after:?}");
        for words in [" of 200 req/s", "in flight", "% busy", "q or Ctrl-C stops", "GET http://127.0.0.1"] {
            assert!(showed(&seen, words), "{words:?}: {:?}", frames(&seen).last());
        }
        assert!(seen.contains("\x1b[38;"), "{seen:?}");
    }
}

#[test]
fn a_second_ctrl_c_and_other_signals_restore_the_terminal() {
    let world = World::new();
    // It never answers: the load's end waits for its requests no longer than it must.
    let target = TargetProcess::start(&["--delay", "30s"]);
    let line = ["load", &target.url(), "-d", "600s", "--warmup", "100ms"];
    let mut terminal = OnTerminal::start(&world, (80, 24), &line, &[]);
    terminal.wait_for("the view", |seen| showed(seen, "busy"));
    terminal.type_in(b"\x03");
    // Two at once are one signal; the load may have ended by the first. The second is sent past the terminal, which throws
    // away what it has yet to show where a key is a signal.
    terminal.wait_for("its end", |seen| showed(seen, "Ctrl-C again stops at once") || seen.contains(LEAVE));
    interrupt(terminal.child.id());
    let (code, seen) = terminal.end();
    around(&seen);
    assert_eq!(code, Some(130), "{seen:?}");

    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        if treats(std::process::id(), "SigIgn", signal) {
            eprintln!("not tested: this test was started so that {signal} is ignored");
            continue;
        }
        let terminal = OnTerminal::start(&world, (80, 24), &line, &[]);
        terminal.wait_for("the view", |seen| showed(seen, "busy"));
        send(terminal.child.id(), signal);
        let (code, seen) = terminal.end();
        around(&seen);
        assert!(matches!(code, Some(130 | 3)), "{signal}: {code:?} {seen:?}");
    }
}

#[test]
fn a_load_that_cannot_begin_does_not_touch_the_terminal() {
    let world = World::new();
    // Nobody listens there.
    let (code, seen) = OnTerminal::start(&world, (80, 24), &["load", "http://127.0.0.1:1/"], &[]).end();
    assert_eq!((code, seen.contains('\x1b')), (Some(3), false), "{seen:?}");
    assert!(seen.contains("prony: "), "{seen:?}");
}

#[test]
fn a_resized_terminal_is_redrawn_and_a_small_one_has_one_line() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let mut terminal = OnTerminal::start(&world, (80, 24), &endless(&target.url()), &[]);
    terminal.wait_for("the view", |seen| showed(seen, "busy"));
    let erased = |seen: &str| seen.matches("\x1b[2J").count();
    assert_eq!(erased(&terminal.seen()), 1);
    tcsetwinsize(&terminal.master, winsize(44, 12)).unwrap();
    terminal.wait_for("the other size", |seen| erased(seen) == 2);
    terminal.type_in(b"q");
    around(&terminal.end().1);

    let mut terminal = OnTerminal::start(&world, (39, 24), &endless(&target.url()), &[]);
    terminal.wait_for("the line", |seen| seen.contains("\r\x1b[K"));
    terminal.type_in(b"\x03");
    let (code, seen) = terminal.end();
    assert_eq!((code, seen.matches(ENTER).count()), (Some(130), 0), "{seen:?}");
    assert!(seen.contains("INTERRUPTED"), "{seen:?}");
}

#[test]
fn quiet_plain_and_no_color_take_effect() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let line = ["load", &url, "-n", "100", "-q"];
    let (code, seen) = OnTerminal::start(&world, (80, 24), &line, &[]).end();
    assert_eq!((code, seen.contains(ENTER), seen.lines().count()), (Some(0), false, 2), "{seen:?}");
    for (flags, environment) in [(&["--plain"][..], &[][..]), (&[], &[("TERM", "dumb")])] {
        let all = [&endless(&url)[..], flags].concat();
        let mut terminal = OnTerminal::start(&world, (80, 24), &all, environment);
        terminal.wait_for("a line", |seen| seen.contains(" s of "));
        terminal.type_in(b"\x03");
        let (code, seen) = terminal.end();
        assert_eq!((code, seen.contains(ENTER)), (Some(130), false), "{seen:?}");
    }
    let mut terminal = OnTerminal::start(&world, (80, 24), &endless(&url), &[("NO_COLOR", "1")]);
    terminal.wait_for("the view", |seen| showed(seen, "busy"));
    terminal.type_in(b"q");
    let (_, seen) = terminal.end();
    assert!(!seen.contains("\x1b[38;"), "{seen:?}");
}

#[test]
fn a_bench_shows_its_grid_and_prints_its_report() {
    let world = World::new();
    let candidate = |name: &str| format!("{name}={BINARY} target --port {{port}} --delay 1ms");
    let (one, two) = (candidate("one"), candidate("two"));
    let line =
        ["bench", "--candidate", &one, "--candidate", &two, "-R", "100", "-d", "300ms", "--warmup", "50ms"];
    // More blocks than anybody waits for. The drawing thread runs when nobody else does: what it shows is not of this or
    // that block.
    let line: Vec<&str> = line.into_iter().chain(["--blocks", "900", "-o", "r.jsonl"]).collect();
    let mut terminal = OnTerminal::start(&world, (80, 24), &line, &[]);
    for words in ["pending", "running", "block ", "req/s", "/900"] {
        terminal.wait_for(words, |seen| showed(seen, words));
    }
    terminal.type_in(b"q");
    let (code, seen) = terminal.end();
    let after = plain(&around(&seen).1);
    assert_eq!(code, Some(130), "{seen:?}");
    for words in ["Reproduce  prony bench", "Run log: r.jsonl", "Interrupted. Continue with"] {
        assert!(after.contains(words), "{words:?}: {after:?}");
    }
}

#[test]
fn a_search_shows_its_probes() {
    let world = World::new();
    let target = TargetProcess::start(&["--capacity", "400"]);
    let line = ["capacity", &target.url(), "-c", "10", "-d", "300ms", "--resolution", "1%"];
    let mut terminal = OnTerminal::start(&world, (80, 24), &line, &[]);
    // Carried or not, which is the machine's to say.
    terminal.wait_for("a probe", |seen| showed(seen, "passed") && (showed(seen, "✓") || showed(seen, "✗")));
    terminal.type_in(b"q");
    let (code, seen) = terminal.end();
    let (before, _) = around(&seen);
    assert!(before.contains("Searching with probes"), "{before:?}");
    // The search may have ended just before.
    assert!(matches!(code, Some(0 | 3 | 130)), "{code:?} {seen:?}");
}
