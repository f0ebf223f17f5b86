//! The tools that Prony is compared with: where each is from, how it is asked and how it is understood.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::claims::Read;
use super::lines::{Line, Results};
use crate::programs;

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) source: Source,
    version: &'static str,
    pub(super) line: Line,
    pub(super) read: Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Own,
    /// A package of Debian 12, of this name.
    Debian(&'static str),
    Cargo,
    Go(&'static str),
    Npm,
    /// In no registry; taken from the PATH.
    Path,
}

impl Source {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Source::Own => "cargo build --release -p prony",
            Source::Debian(_) => "Debian has it: --install, as root",
            Source::Cargo => "crates.io has it: --install",
            Source::Go(_) => "the Go proxy has it: --install",
            Source::Npm => "npm has it: --install",
            Source::Path => "no registry has it: build it and put it on the PATH",
        }
    }
}

const OF_WRK: Read = Read::Text(|line| Some(line.split_once(" requests in ")?.0));

/// All of them. Debian 12 has neither oha, plow, vegeta nor k6, and its package `bombardier` is a game. wrk2 and zrk have no
/// closed loop: the next request of a rate beyond reach is always overdue.
pub(super) static TOOLS: [Tool; 15] = [
    tool(
        ("prony", Source::Own, "--version"),
        &[],
        // Without a warm-up all of the run is counted, as the others' is.
        "load <tls|--insecure> -t 1 -c %c -d %s --warmup 0 <open|-R %r> <deep|--pipeline %p> <close|--no-keepalive> <http2|--http2> --json - %u",
        Read::Json(&["/run_total/completed"], "/latency/response/pN_ns", 1.0),
    ),
    tool(
        ("floor", Source::Own, ""),
        &["close"],
        "floor -c %c -d %s -p %p <open|-R %r> <http2|--http2> %u",
        Read::Json(&["/requests"], "/pN_ns", 1.0),
    ),
    tool(
        ("wrk", Source::Debian("wrk"), "-v"),
        &["open"],
        "-t 1 -c %c -d %ss --latency <close|-H Connection:~close> <deep|-s pipeline.lua> %u",
        OF_WRK,
    )
    .reads(
        "pipeline.lua",
        "local batch\nfunction init(args)\n  batch = string.rep(wrk.format(), %p)\nend\n\
         function request()\n  return batch\nend\n",
    ),
    tool(
        ("wrk2", Source::Path, "-v"),
        &["deep", "close"],
        "-t 1 -c %c -d %ss -R <open|%r><closed|10000000> --latency %u",
        OF_WRK,
    ),
    tool(
        ("zrk", Source::Path, "--version"),
        &["deep", "close"],
        "-t 1 -c %c -d %ss -R <open|%r><closed|10000000> <tls|-k> --format json %u",
        Read::Json(&["/requests"], "/latency_us/pN", 1e3),
    ),
    tool(
        ("ab", Source::Debian("apache2-utils"), "-V"),
        &["open", "deep"],
        // -t alone stops at 50,000; -n makes it reserve 32 bytes a request.
        "-q <keep|-k> -t %s -n %n -c %c %u",
        Read::Text(|line| line.strip_prefix("Complete requests:")),
    ),
    tool(
        ("h2load", Source::Debian("nghttp2-client"), "--version"),
        &["open", "close"],
        "<http1|--h1> -t 1 -c %c -m %p -D %s %u",
        // Its 1.x prints no percentiles.
        Read::Text(|line| {
            line.strip_prefix("requests: ")?.split(", ").find_map(|part| part.strip_suffix(" done"))
        }),
    ),
    tool(
        ("oha", Source::Cargo, "--version"),
        &["pipelined"],
        "--no-tui --output-format json -z %ss -c %c <http2|--http2 -p %p> <open|-q %r> <close|--disable-keepalive> \
         <tls|--insecure> %u",
        Read::Json(&["/statusCodeDistribution"], "/latencyPercentiles/pN", 1e9),
    ),
    tool(
        ("rewrk", Source::Cargo, "--version"),
        &["open", "deep", "close"],
        "-t 1 -c %c -d %ss --json -h %u",
        // What it calls percentiles are means of the slowest share, so none is read.
        Read::Json(&["/requests_total"], "", 1.0),
    ),
    tool(
        ("bombardier", Source::Go("github.com/codesenberg/bombardier"), "--version"),
        // It takes --disableKeepAlives for its slower client only.
        &["deep", "close"],
        "-c %c -d %ss <open|-r %r> <tls|-k> -l -p r -o json %u",
        Read::Json(
            &[
                "/result/req2xx",
                "/result/req1xx",
                "/result/req3xx",
                "/result/req4xx",
                "/result/req5xx",
                "/result/others",
            ],
            "/result/latency/percentiles/N",
            1e3,
        ),
    ),
    tool(
        ("plow", Source::Go("github.com/six-ddc/plow"), "--version"),
        &["deep", "close"],
        // Without --listen= it serves a web page on every interface.
        "%u -c %c -d %ss <open|--rate %r> <tls|-k> --listen= --json --summary",
        Read::Json(&["/Summary/Count"], "/Percentiles/PN", 1.0),
    ),
    tool(
        ("vegeta", Source::Go("github.com/tsenart/vegeta/v12"), "-version"),
        &["deep"],
        "attack -duration %ss -rate <open|%r><closed|0> -workers %c -max-workers %c -connections %c \
         -keepalive=%k -insecure -targets vegeta.targets -output vegeta.results",
        // It has no 75th percentile.
        Read::Json(&["/status_codes"], "/latencies/Nth", 1.0),
    )
    .reads("vegeta.targets", "GET %u\n")
    .results(Results::Then(&["report", "-type=json", "vegeta.results"])),
    tool(
        ("hey", Source::Debian("hey"), ""),
        &["deep"],
        // -q is each connection's rate.
        "-z %ss -c %c <open|-q %q> <close|-disable-keepalive> %u",
        // It keeps the first million results only, so its count may fall short.
        Read::Text(|line| Some(line.strip_prefix('[')?.strip_suffix(" responses")?.split_once(']')?.1)),
    ),
    tool(
        ("autocannon", Source::Npm, "--version"),
        &[],
        // -D 1: each connection ends after one answer.
        "-c %c -d %s -p %p <open|-R %r> <close|-D 1> --json --no-progress %u",
        Read::Json(&["/2xx"], "/latency/pN", 1e6),
    ),
    tool(
        ("k6", Source::Go("go.k6.io/k6"), "version"),
        &["deep"],
        "run --quiet --no-color --no-usage-report --summary-export k6.json k6.js",
        Read::Json(&["/metrics/http_reqs/count"], "/metrics/http_req_duration/p(N)", 1e6),
    )
    .reads(
        "k6.js",
        "import http from 'k6/http';\nexport const options = {\n  discardResponseBodies: true,\n  \
         insecureSkipTLSVerify: true,\n  noConnectionReuse: <keep|false><close|true>,\n  \
         summaryTrendStats: ['p(50)', 'p(75)', 'p(90)'],\n  scenarios: { load: { \
         <closed|executor: 'constant-vus', vus: %c><open|executor: 'constant-arrival-rate', rate: %r, \
         timeUnit: '1s', preAllocatedVUs: %c, maxVUs: %c>, duration: '%ss', gracefulStop: '1s' } },\n};\n\
         export default function () { http.get('%u'); }\n",
    )
    .results(Results::File("k6.json")),
];

/// Its name, its source, and what makes it say its version; what it cannot do, and its line.
const fn tool(
    (name, source, version): (&'static str, Source, &'static str),
    cannot: &'static [&'static str],
    arguments: &'static str,
    read: Read,
) -> Tool {
    let line = Line { cannot, arguments, file: None, results: Results::Stdout };
    Tool { name, source, version, line, read }
}

#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) prony: PathBuf,
    /// `.prony/peers`.
    pub(super) tools: PathBuf,
}

impl Tool {
    /// With a file that it is to read.
    const fn reads(mut self, name: &'static str, text: &'static str) -> Tool {
        self.line.file = Some((name, text));
        self
    }

    const fn results(mut self, results: Results) -> Tool {
        self.line.results = results;
        self
    }

    /// Its program; `None` where it isn't there. The tools' folder comes before the PATH.
    pub(super) fn program(&self, places: &Places) -> Option<PathBuf> {
        match self.name {
            "prony" => return Some(places.prony.clone()).filter(|p| p.is_file()),
            "floor" => return std::env::current_exe().ok(),
            _ => {}
        }
        let own = [places.tools.join("bin"), places.tools.join("node_modules/.bin")];
        let path = std::env::var_os("PATH").unwrap_or_default();
        own.into_iter().chain(std::env::split_paths(&path)).map(|f| f.join(self.name)).find(|p| p.is_file())
    }

    pub(super) fn version(&self, program: &Path) -> String {
        let of_go = if let Source::Go(_) = self.source { go_version(program) } else { None };
        match self.source {
            Source::Debian(package) if self.version.is_empty() => {
                said(Path::new("dpkg-query"), &["-W", "-f=${Version}", package])
            }
            _ if self.version.is_empty() => String::new(),
            _ => of_go.unwrap_or_else(|| said(program, &[self.version])),
        }
    }
}

/// The module's version that Go wrote into the program; `None` of one that was built from a work tree.
fn go_version(program: &Path) -> Option<String> {
    let text = programs::text(Command::new("go").args(["version", "-m"]).arg(program)).ok()?;
    let module = text.lines().find_map(|line| line.trim().strip_prefix("mod\t"))?;
    module.split('\t').nth(1).filter(|version| version.starts_with('v')).map(str::to_owned)
}

/// The first line that a command says, on either stream, that has a figure in it.
fn said(program: &Path, arguments: &[&str]) -> String {
    let Ok(output) = programs::output(Command::new(program).args(arguments)) else { return String::new() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).unwrap_or_default();
    line.split("Copyright").next().unwrap_or_default().trim().to_owned()
}
