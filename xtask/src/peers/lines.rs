//! Each tool's command line for a load.

use std::path::{Path, PathBuf};

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

impl Load {
    /// The rate, as a tool's flag says it; nothing in a closed loop.
    fn rate(&self, flag: &str) -> String {
        self.rate_per_s.map_or(String::new(), |rate| format!("{flag} {rate}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) arguments: Vec<String>,
    pub(super) results: Results,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Results {
    Stdout,
    File(PathBuf),
    /// On standard output of the same tool, run afterwards with these arguments.
    Then(Vec<String>),
}

/// A line for `load` against the URL, with files in the folder; `None` where the tool can't.
pub(super) type MakeLine = fn(&Load, &str, &Path) -> Option<Line>;

/// A closed loop for tools that have none: the next request is always overdue.
const RATE_BEYOND_REACH: u32 = 10_000_000;

fn stdout(arguments: &str) -> Option<Line> {
    let arguments = arguments.split_ascii_whitespace().map(str::to_owned).collect();
    Some(Line { arguments, results: Results::Stdout })
}

fn only(condition: bool, text: &str) -> &str {
    if condition { text } else { "" }
}

/// A file that a tool reads, by its name: tools run in `folder`, and their lines are recorded without it.
fn write(folder: &Path, name: &'static str, text: &str) -> Option<&'static str> {
    std::fs::write(folder.join(name), text).ok()?;
    Some(name)
}

pub(super) fn prony(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    let rate = load.rate("-R");
    let depth = if *pipeline > 1 { format!("--pipeline {pipeline}") } else { String::new() };
    let close = only(!load.keepalive, "--no-keepalive");
    let http2 = only(load.http2, "--http2");
    // Without a warm-up all of the run is counted, as the others' is.
    stdout(&format!(
        "load -t 1 -c {connections} -d {seconds} --warmup 0 {rate} {depth} {close} {http2} --json - {url}"
    ))
}

pub(super) fn floor(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    load.keepalive.then_some(())?;
    let rate = load.rate("-R");
    let http2 = only(load.http2, "--http2");
    stdout(&format!("floor -c {connections} -d {seconds} -p {pipeline} {rate} {http2} {url}"))
}

pub(super) fn wrk(load: &Load, url: &str, folder: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    load.rate_per_s.is_none().then_some(())?;
    let mut line = stdout(&format!("-t 1 -c {connections} -d {seconds}s --latency"))?;
    if !load.keepalive {
        line.arguments.extend(["-H".to_owned(), "Connection: close".to_owned()]);
    }
    if *pipeline > 1 {
        let script = format!(
            "local batch\n\
             function init(args)\n  batch = string.rep(wrk.format(), {pipeline})\nend\n\
             function request()\n  return batch\nend\n"
        );
        line.arguments.extend(["-s", write(folder, "pipeline.lua", &script)?].map(str::to_owned));
    }
    line.arguments.push(url.to_owned());
    Some(line)
}

pub(super) fn wrk2(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1 && load.keepalive).then_some(())?;
    let rate = load.rate_per_s.unwrap_or(RATE_BEYOND_REACH);
    stdout(&format!("-t 1 -c {connections} -d {seconds}s -R {rate} --latency {url}"))
}

pub(super) fn zrk(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1 && load.keepalive).then_some(())?;
    // Its 1.x has no closed loop either.
    let rate = load.rate_per_s.unwrap_or(RATE_BEYOND_REACH);
    let tls = only(url.starts_with("https"), "-k");
    stdout(&format!("-t 1 -c {connections} -d {seconds}s -R {rate} {tls} --format json {url}"))
}

pub(super) fn ab(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.rate_per_s.is_none() && load.pipeline == 1).then_some(())?;
    let keep = only(load.keepalive, "-k");
    // -t alone stops at 50,000; -n makes it reserve 32 bytes a request.
    let most = 500_000 * seconds;
    stdout(&format!("-q {keep} -t {seconds} -n {most} -c {connections} {url}"))
}

pub(super) fn hey(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1).then_some(())?;
    // -q is each connection's rate.
    let rate = load.rate_per_s.map_or(String::new(), |rate| format!("-q {}", rate / connections));
    let close = only(!load.keepalive, "-disable-keepalive");
    stdout(&format!("-z {seconds}s -c {connections} {rate} {close} {url}"))
}

pub(super) fn h2load(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    (load.rate_per_s.is_none() && load.keepalive).then_some(())?;
    let http1 = only(!load.http2, "--h1");
    stdout(&format!("{http1} -t 1 -c {connections} -m {pipeline} -D {seconds} {url}"))
}

pub(super) fn bombardier(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    // It takes --disableKeepAlives for its slower client only.
    (load.pipeline == 1 && load.keepalive).then_some(())?;
    let rate = load.rate("-r");
    let tls = only(url.starts_with("https"), "-k");
    stdout(&format!("-c {connections} -d {seconds}s {rate} {tls} -l -p r -o json {url}"))
}

pub(super) fn oha(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    (*pipeline == 1 || load.http2).then_some(())?;
    let http2 = if load.http2 { format!("--http2 -p {pipeline}") } else { String::new() };
    let rate = load.rate("-q");
    let close = only(!load.keepalive, "--disable-keepalive");
    let tls = only(url.starts_with("https"), "--insecure");
    stdout(&format!(
        "--no-tui --output-format json -z {seconds}s -c {connections} {http2} {rate} {close} {tls} {url}"
    ))
}

pub(super) fn rewrk(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.rate_per_s.is_none() && load.pipeline == 1 && load.keepalive).then_some(())?;
    stdout(&format!("-t 1 -c {connections} -d {seconds}s --json -h {url}"))
}

pub(super) fn plow(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1 && load.keepalive).then_some(())?;
    let rate = load.rate("--rate");
    let tls = only(url.starts_with("https"), "-k");
    // Without --listen= it serves a web page on every interface.
    stdout(&format!("{url} -c {connections} -d {seconds}s {rate} {tls} --listen= --json --summary"))
}

pub(super) fn autocannon(load: &Load, url: &str, _: &Path) -> Option<Line> {
    let Load { connections, seconds, pipeline, .. } = load;
    let rate = load.rate("-R");
    // -D 1: each connection ends after one answer.
    let close = only(!load.keepalive, "-D 1");
    stdout(&format!("-c {connections} -d {seconds} -p {pipeline} {rate} {close} --json --no-progress {url}"))
}

pub(super) fn vegeta(load: &Load, url: &str, folder: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1).then_some(())?;
    let targets = write(folder, "vegeta.targets", &format!("GET {url}\n"))?;
    let rate = load.rate_per_s.unwrap_or(0);
    let line = format!(
        "attack -duration {seconds}s -rate {rate} -workers {connections} -max-workers {connections} \
         -connections {connections} -keepalive={} -insecure -targets {targets} -output vegeta.results",
        load.keepalive,
    );
    let report = ["report", "-type=json", "vegeta.results"].map(str::to_owned).to_vec();
    Some(Line { results: Results::Then(report), ..stdout(&line)? })
}

pub(super) fn k6(load: &Load, url: &str, folder: &Path) -> Option<Line> {
    let Load { connections, seconds, .. } = load;
    (load.pipeline == 1).then_some(())?;
    let arrivals = load.rate_per_s.map_or(format!("executor: 'constant-vus', vus: {connections}"), |rate| {
        format!(
            "executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', \
             preAllocatedVUs: {connections}, maxVUs: {connections}"
        )
    });
    let script = format!(
        "import http from 'k6/http';\n\
         export const options = {{\n  discardResponseBodies: true,\n  insecureSkipTLSVerify: true,\n  \
         noConnectionReuse: {},\n  summaryTrendStats: ['p(50)', 'p(75)', 'p(90)'],\n  \
         scenarios: {{ load: {{ {arrivals}, duration: '{seconds}s', gracefulStop: '1s' }} }},\n}};\n\
         export default function () {{ http.get('{url}'); }}\n",
        !load.keepalive
    );
    let script = write(folder, "k6.js", &script)?;
    let summary = folder.join("k6.json");
    // Of a run before.
    let _ = std::fs::remove_file(&summary);
    let line = format!("run --quiet --no-color --no-usage-report --summary-export k6.json {script}");
    Some(Line { results: Results::File(summary), ..stdout(&line)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: Load =
        Load { connections: 100, rate_per_s: None, pipeline: 1, keepalive: true, http2: false, seconds: 2 };

    fn said(make: MakeLine, load: &Load) -> Option<String> {
        make(load, "http://127.0.0.1:1/", &std::env::temp_dir()).map(|line| line.arguments.join(" "))
    }

    #[test]
    fn a_rate_is_the_whole_loads() {
        let open = Load { connections: 10, rate_per_s: Some(1000), ..CLOSED };
        assert!(said(hey, &open).unwrap().contains("-q 100 "), "hey's is each worker's");
        assert!(said(oha, &open).unwrap().contains("-q 1000 "));
        assert!(said(wrk2, &open).unwrap().contains("-R 1000 "));
        assert!(said(prony, &open).unwrap().contains("-R 1000 "));
        assert!(said(k6, &open).is_some());
    }

    #[test]
    fn scenarios_that_a_tool_cannot_run_have_no_command_line() {
        let open = Load { rate_per_s: Some(1000), ..CLOSED };
        for make in [wrk, ab, h2load, rewrk] as [MakeLine; 4] {
            assert_eq!(said(make, &open), None);
        }
        let deep = Load { pipeline: 16, ..CLOSED };
        for make in [wrk2, zrk, ab, hey, bombardier, oha, rewrk, plow, vegeta, k6] as [MakeLine; 10] {
            assert_eq!(said(make, &deep), None);
        }
        assert!(said(h2load, &deep).unwrap().contains("-m 16 "));
    }

    #[test]
    fn the_pipelined_script_sends_the_batch() {
        let folder = std::env::temp_dir();
        let line = wrk(&Load { pipeline: 16, ..CLOSED }, "http://127.0.0.1:1/", &folder).unwrap();
        let at = line.arguments.iter().position(|a| a == "-s").unwrap();
        let script = std::fs::read_to_string(folder.join(&line.arguments[at + 1])).unwrap();
        assert!(script.contains("string.rep(wrk.format(), 16)"), "{script}");
    }
}
