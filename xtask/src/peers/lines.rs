//! Each tool's command line for a load, made of a template.

use std::fs;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) connections: u32,
    /// Requests per second in open arrivals; `None` is closed.
    pub(super) rate_per_s: Option<u32>,
    /// Requests in flight on each connection.
    pub(super) pipeline: u32,
    pub(super) keepalive: bool,
    pub(super) http2: bool,
    pub(super) seconds: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Results {
    Stdout,
    /// In this file of the folder that it runs in.
    File(&'static str),
    /// On standard output of the same tool, run afterwards with these arguments.
    Then(&'static [&'static str]),
}

/// A tool's arguments, and a file that it reads, by its name.
#[derive(Debug)]
pub(super) struct Line {
    /// Of a load's kinds those that it cannot do.
    pub(super) cannot: &'static [&'static str],
    /// `<open|…>` stands for a text where the load is open, `%c` for its connections, and `~` for a space within a word.
    pub(super) arguments: &'static str,
    pub(super) file: Option<(&'static str, &'static str)>,
    pub(super) results: Results,
}

impl Load {
    /// Whether it is of this kind, for a URL.
    fn is(&self, kind: &str, url: &str) -> bool {
        match kind {
            "open" => self.rate_per_s.is_some(),
            "closed" => self.rate_per_s.is_none(),
            "deep" => self.pipeline > 1,
            "pipelined" => self.pipeline > 1 && !self.http2,
            "keep" => self.keepalive,
            "close" => !self.keepalive,
            "http1" => !self.http2,
            "http2" => self.http2,
            "tls" => url.starts_with("https"),
            other => unreachable!("no load is {other}"),
        }
    }

    fn filled(&self, template: &str, url: &str) -> String {
        let mut text = String::new();
        for (at, part) in template.split(['<', '>']).enumerate() {
            match part.split_once('|').filter(|_| at % 2 == 1) {
                Some((kind, more)) if self.is(kind, url) => text.push_str(more),
                Some(_) => {}
                None => text.push_str(part),
            }
        }
        let rate = self.rate_per_s.unwrap_or(0);
        let numbers = [
            ("%c", self.connections),
            ("%s", self.seconds),
            ("%p", self.pipeline),
            ("%r", rate),
            ("%q", rate / self.connections),
            ("%n", 500_000 * self.seconds),
        ];
        let text = numbers.iter().fold(text, |text, (name, number)| text.replace(name, &number.to_string()));
        text.replace("%k", &self.keepalive.to_string()).replace("%u", url)
    }
}

impl Line {
    /// The words for a load of the URL, with files in the folder, in which it runs; `None` where the tool can't.
    pub(super) fn words(&self, load: &Load, url: &str, folder: &Path) -> Option<Vec<String>> {
        if self.cannot.iter().any(|kind| load.is(kind, url)) {
            return None;
        }
        if let Some((name, text)) = self.file {
            fs::write(folder.join(name), load.filled(text, url)).ok()?;
        }
        if let Results::File(name) = self.results {
            // Of a run before.
            let _ = fs::remove_file(folder.join(name));
        }
        let line = load.filled(self.arguments, url);
        Some(line.split_ascii_whitespace().map(|word| word.replace('~', " ")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tools::TOOLS;

    const CLOSED: Load =
        Load { connections: 100, rate_per_s: None, pipeline: 1, keepalive: true, http2: false, seconds: 2 };

    fn said(tool: &str, load: &Load) -> Option<String> {
        let line = &TOOLS.iter().find(|one| one.name == tool).unwrap().line;
        line.words(load, "http://h:1/", &std::env::temp_dir()).map(|words| words.join(" "))
    }

    #[test]
    fn each_tool_has_a_line_for_what_it_can_do() {
        let open = Load { connections: 10, rate_per_s: Some(1000), ..CLOSED };
        let [deep, close] = [Load { pipeline: 16, ..CLOSED }, Load { keepalive: false, ..CLOSED }];
        let streams = Load { http2: true, ..deep };
        let none = None;
        for (tool, load, line) in [
            ("prony", CLOSED, Some("load -t 1 -c 100 -d 2 --warmup 0 --json - http://h:1/")),
            ("prony", open, Some("load -t 1 -c 10 -d 2 --warmup 0 -R 1000 --json - http://h:1/")),
            (
                "prony",
                streams,
                Some("load -t 1 -c 100 -d 2 --warmup 0 --pipeline 16 --http2 --json - http://h:1/"),
            ),
            ("floor", deep, Some("floor -c 100 -d 2 -p 16 http://h:1/")),
            ("floor", close, none),
            ("wrk", close, Some("-t 1 -c 100 -d 2s --latency -H Connection: close http://h:1/")),
            ("wrk", deep, Some("-t 1 -c 100 -d 2s --latency -s pipeline.lua http://h:1/")),
            ("wrk", open, none),
            ("wrk2", open, Some("-t 1 -c 10 -d 2s -R 1000 --latency http://h:1/")),
            ("wrk2", CLOSED, Some("-t 1 -c 100 -d 2s -R 10000000 --latency http://h:1/")),
            ("zrk", open, Some("-t 1 -c 10 -d 2s -R 1000 --format json http://h:1/")),
            ("ab", CLOSED, Some("-q -k -t 2 -n 1000000 -c 100 http://h:1/")),
            ("ab", open, none),
            ("hey", open, Some("-z 2s -c 10 -q 100 http://h:1/")),
            ("h2load", deep, Some("--h1 -t 1 -c 100 -m 16 -D 2 http://h:1/")),
            ("bombardier", open, Some("-c 10 -d 2s -r 1000 -l -p r -o json http://h:1/")),
            ("oha", deep, none),
            ("oha", streams, Some("--no-tui --output-format json -z 2s -c 100 --http2 -p 16 http://h:1/")),
            ("rewrk", open, none),
            ("plow", open, Some("http://h:1/ -c 10 -d 2s --rate 1000 --listen= --json --summary")),
            ("autocannon", close, Some("-c 100 -d 2 -p 1 -D 1 --json --no-progress http://h:1/")),
            ("k6", deep, none),
        ] {
            assert_eq!(said(tool, &load).as_deref(), line, "{tool} {load:?}");
        }
        assert!(said("vegeta", &CLOSED).unwrap().contains("-rate 0 -workers 100 "));
        assert!(said("k6", &open).is_some());
        let read = |name: &str| fs::read_to_string(std::env::temp_dir().join(name)).unwrap();
        assert!(read("k6.js").contains("{ executor: 'constant-arrival-rate', rate: 1000, timeUnit: '1s', "));
        said("wrk", &deep);
        assert!(read("pipeline.lua").contains("string.rep(wrk.format(), 16)"));
    }
}
