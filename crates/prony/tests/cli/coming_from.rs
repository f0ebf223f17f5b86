//! Every line of ours in docs/coming-from.md runs as it stands there, only shorter.

use std::path::Path;

use crate::world::{TargetProcess, World};

/// Where the page's lines aim.
const PAGE_ADDRESS: &str = "127.0.0.1:8080";
/// Fewer lines than this mean that the page's form has changed and the test looks past them.
const LINES_MIN: usize = 10;

/// The lines in `sh` blocks that begin with `prony load`.
fn lines_of(page: &str) -> Vec<&str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if let Some(info) = line.strip_prefix("```") {
            inside = !inside && info.trim() == "sh";
        } else if inside && line.starts_with("prony load ") {
            lines.push(line);
        }
    }
    lines
}

/// The line's words as a shell splits them, quotes kept.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            None if c == ' ' => words.push(String::new()),
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        if quote.is_some() || c != ' ' {
            words.last_mut().unwrap().push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A shortened line ends by this count: however slow the machine is, there is something to measure.
const REQUESTS: &str = "20";

/// The value that a flag has in the shortened line; `None` where it keeps its own.
fn short_value(flag: &str, value: &str) -> Option<String> {
    match flag {
        "--warmup" => Some("0".to_owned()),
        "-n" | "--requests" => Some(REQUESTS.to_owned()),
        "-c" | "--connections" => value.parse::<u64>().is_ok_and(|n| n > 20).then(|| "20".to_owned()),
        // Rates have units: what is not a plain number up to 500 is more.
        "-R" | "--rate" => value.parse::<u64>().map_or(true, |n| n > 500).then(|| "500".to_owned()),
        _ => None,
    }
}

/// The line against `address`, in a fraction of a second.
fn shortened(line: &str, address: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut flag_before = String::new();
    let (mut counted, mut warmed) = (false, false);
    for word in words(line) {
        counted |= ["-n", "--requests"].iter().any(|flag| word.starts_with(flag));
        warmed |= word.starts_with("--warmup");
        let attached = word.starts_with('-')
            && !word.starts_with("--")
            && word.get(2..).is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        let shorter = if attached {
            short_value(&word[..2], &word[2..]).map(|value| format!("{}{value}", &word[..2]))
        } else if let Some((flag, value)) = word.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
            short_value(flag, value).map(|value| format!("{flag}={value}"))
        } else {
            short_value(&flag_before, &word)
        };
        flag_before.clone_from(&word);
        out.push(shorter.unwrap_or(word).replace(PAGE_ADDRESS, address));
    }
    if !counted {
        out.push(format!("-n {REQUESTS}"));
    }
    // With a length there is a warm-up unless somebody says otherwise, and the count could end in it.
    if !warmed {
        out.push("--warmup 0".to_owned());
    }
    out.join(" ")
}

#[test]
fn the_lines_of_the_page_are_found_and_shortened() {
    let page = "```sh\nprony load -c 9 URL\ncurl x\n```\nprony load no\n```js\nprony load no\n```\n```sh\nprony load b\n```";
    assert_eq!(lines_of(page), ["prony load -c 9 URL", "prony load b"]);
    let line =
        "prony load -t2 -c400 -d30s --rate 20k -n 9000 --warmup=3s -H 'A: b  c' http://127.0.0.1:8080/x";
    assert_eq!(
        shortened(line, "h:1"),
        "prony load -t2 -c20 -d30s --rate 500 -n 20 --warmup=0 -H 'A: b  c' http://h:1/x"
    );
    assert_eq!(
        shortened("prony load -R 50 -c 5 -q http://127.0.0.1:8080/", "h:1"),
        "prony load -R 50 -c 5 -q http://h:1/ -n 20 --warmup 0"
    );
}

#[test]
fn every_prony_line_of_the_page_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let lines = lines_of(&page);
    assert!(lines.len() >= LINES_MIN, "only {} lines of ours in {}", lines.len(), path.display());
    let target = TargetProcess::start(&[]);
    let address = target.address.to_string();
    let mut wrong = Vec::new();
    for line in lines {
        assert!(line.contains(&format!("http://{PAGE_ADDRESS}/")), "another address: {line}");
        let world = World::new();
        world.write("body.json", "{\"a\":1}");
        world.write("paths.txt", "/\nHEAD /json\n");
        std::fs::create_dir(world.path("requests")).unwrap();
        world.write("requests/get.raw", "GET / HTTP/1.1\nHost: localhost\n\n");
        let short = shortened(line, &address);
        let said = world.shell(&short);
        // So few requests have no percentile that a threshold could judge.
        let not_judged = said.code == Some(4) && short.contains("--slo");
        if said.code != Some(0) && !not_judged {
            wrong.push(format!("{line}\n  run as {short}\n  {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
