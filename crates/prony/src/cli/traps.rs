//! Lines pasted from other tools' manuals: each trap gets a sentence.
//!
//! wrk's and wrk2's lines work as they are. What other tools mean by a flag
//! that is ours for something else, or another command's, is said before the
//! parser would say less.

/// A sentence for a line that would not do what its writer means.
pub(crate) fn check(arguments: &[String]) -> Option<String> {
    let command = arguments.get(1)?.as_str();
    if !matches!(command, "load" | "bench") {
        return None;
    }
    let rest = &arguments[2..];
    for (i, argument) in rest.iter().enumerate() {
        if argument == "--" {
            return None;
        }
        let next = rest.get(i + 1).map(String::as_str);
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (argument.as_str(), next),
        };
        if let Some(sentence) = trap(command, flag, value) {
            return Some(sentence);
        }
    }
    None
}

fn trap(command: &str, flag: &str, value: Option<&str>) -> Option<String> {
    let looks_like_url = |text: &str| text.contains("://");
    match flag {
        "--repeat" if command == "bench" => Some(
            "--repeat is for `prony load`: here --blocks says how often each candidate has its turn.".to_owned(),
        ),
        "--duet" if command == "load" => Some(
            "--duet runs two candidates at once: prony bench --duet --candidate A=… --candidate B=… -R RATE"
                .to_owned(),
        ),
        "-z" => Some("-z is hey's and oha's duration: here it is -d, as in -d 10s.".to_owned()),
        "-s" if command == "load" => Some(
            "-s runs a Lua script in wrk: Prony has no scripts. Method, headers and body are -m, -H and -b; \
             several requests in turn are --targets FILE."
                .to_owned(),
        ),
        "-q" if value.is_some_and(|v| v.parse::<f64>().is_ok()) => Some(
            "-q N is hey's rate per worker: here a rate is for the whole load, use -R N. (-q alone is --quiet.)"
                .to_owned(),
        ),
        "--json" | "-o" | "--output" if value.is_some_and(looks_like_url) => Some(format!(
            "{flag} wants a file and {:?} is a URL: write {flag} FILE before it{}.",
            value.unwrap_or_default(),
            if flag == "--json" { ", or --json -" } else { "" }
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<String> {
        check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn wrk_lines_pass() {
        assert_eq!(said("prony load -t4 -c100 -d30s --timeout 2s --latency http://h/"), None);
        assert_eq!(said("prony load -t2 -c100 -d30 -R2000 -L http://h/"), None);
        assert_eq!(said("prony load -q http://h/"), None);
    }

    #[test]
    fn pasted_lines_get_a_sentence() {
        for (line, says) in [
            ("prony load -z 10s http://h/", "-d 10s"),
            ("prony load -n 100 -q 50 http://h/", "-R"),
            ("prony load -s post.lua http://h/", "Lua"),
            ("prony load --json http://h/", "is a URL"),
            ("prony load -o http://h/", "is a URL"),
            ("prony load --json=http://h/", "is a URL"),
            ("prony load --duet http://h/", "prony bench --duet"),
            ("prony bench --repeat 5 quickstart", "--blocks"),
        ] {
            assert!(said(line).is_some_and(|s| s.contains(says)), "{line}: {:?}", said(line));
        }
    }

    #[test]
    fn other_commands_and_what_follows_a_double_dash_are_left_alone() {
        assert_eq!(said("prony report -z"), None);
        assert_eq!(said("prony load -- -z"), None);
    }
}
