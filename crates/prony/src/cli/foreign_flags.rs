//! Flags of other tools, or of another command, that mean something else here.
//!
//! wrk's and wrk2's lines work as they are. For the flags here the message says
//! what to write instead, where the parser's would not.

/// The message for a line that would not do what its writer means.
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
        if let Some(message) = advice(command, flag, value) {
            return Some(message);
        }
    }
    None
}

fn advice(command: &str, flag: &str, value: Option<&str>) -> Option<String> {
    let looks_like_url = |text: &str| text.contains("://");
    match flag {
        "--repeat" if command == "bench" => Some(
            "--repeat is for `prony load`: here --blocks says how often each candidate is loaded.".to_owned(),
        ),
        "--duet" if command == "load" => Some(
            "--duet runs two candidates at once: prony bench --duet --candidate A=… --candidate B=… -R RATE"
                .to_owned(),
        ),
        "-z" => Some("-z is the duration in hey and oha: here it is -d, as in -d 10s.".to_owned()),
        "-s" if command == "load" => Some(
            "-s runs a Lua script in wrk: Prony has no scripts. Method, headers and body are -m, -H and -b; \
             several requests in turn are --targets FILE."
                .to_owned(),
        ),
        "-q" if value.is_some_and(|v| v.parse::<f64>().is_ok()) => Some(
            "-q N is the rate of each worker in hey: here a rate is for the whole load, use -R N. (-q alone is --quiet.)"
                .to_owned(),
        ),
        "--json" | "-o" | "--output" if value.is_some_and(looks_like_url) => Some(format!(
            "{flag} needs a file and {:?} is a URL: write {flag} FILE before it{}.",
            value.unwrap_or_default(),
            if flag == "--json" { ", or --json -" } else { "" }
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> Option<String> {
        check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn lines_of_wrk_and_wrk2_are_accepted() {
        assert_eq!(message("prony load -t4 -c100 -d30s --timeout 2s --latency http://h/"), None);
        assert_eq!(message("prony load -t2 -c100 -d30 -R2000 -L http://h/"), None);
        assert_eq!(message("prony load -q http://h/"), None);
    }

    #[test]
    fn flags_of_other_tools_get_advice() {
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
            assert!(message(line).is_some_and(|m| m.contains(says)), "{line}: {:?}", message(line));
        }
    }

    #[test]
    fn other_commands_and_words_after_a_double_dash_are_ignored() {
        assert_eq!(message("prony report -z"), None);
        assert_eq!(message("prony load -- -z"), None);
    }
}
