//! Services, resets and ports that cannot be chosen: `bench` starts what candidates need beside them, and leaves nothing of it.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::needs::{Need, has};
use crate::tutorial_page::commands;
use crate::world::{BINARY, Said, World, processes_naming, send, wait_until};

/// A world with the programs, and what each of them is called there.
struct Shop {
    world: World,
    program: String,
}

impl Shop {
    fn new() -> Shop {
        let world = World::new();
        world.write("services.py", include_str!("services.py"));
        let program = format!("python3 {}", world.path("services.py").display());
        Shop { world, program }
    }

    /// `@` in flags is the program.
    fn words(&self, flags: &[&str]) -> Vec<String> {
        let line = ["bench", "-n", "40", "-c", "4", "--warmup", "0", "-o", "r.jsonl"];
        line.iter().chain(flags).map(|word| word.replace('@', &self.program)).collect()
    }

    fn bench(&self, flags: &[&str]) -> Said {
        let words = self.words(flags);
        self.world.prony(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn start(&self, flags: &[&str]) -> Child {
        let words = self.words(flags);
        let mut command = self.world.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How many rows each database has counted.
    fn rows(&self) -> Vec<usize> {
        let files = fs::read_dir(self.world.path("")).unwrap().flatten();
        let counted = files.filter(|file| file.file_name().to_string_lossy().starts_with("rows-"));
        counted.map(|file| fs::read(file.path()).unwrap().len()).collect()
    }

    /// Why each trial was not measured; empty of one that was.
    fn failures(&self) -> Vec<String> {
        let of = |result: Value| result["failure"].as_str().unwrap_or_default().to_owned();
        self.world.lines("r.jsonl", "result").into_iter().map(of).collect()
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        let mark = self.world.path("").display().to_string();
        wait_until("what the run started is gone", || processes_naming(&mark).is_empty());
        let journal = || fs::read_dir(self.world.path("state/journal")).map_or(0, Iterator::count);
        assert_eq!(journal(), 0);
    }
}

const DB: &str = "db=exec @ serve {port} rows-{port}";
const APP: &str = "shop=exec @ app {port} {db_port}";
const RESET: &str = "@ reset {db_port}";

/// The reset after the check leaves a database without its rows: what it then counts is what was requested.
#[test]
fn rows_since_the_reset_are_the_requests_and_costs_are_shown() {
    let shop = Shop::new();
    let flags = ["--candidate", APP, "--service", DB, "--reset", RESET, "--blocks", "1"];
    let said = shop.bench(&flags);
    assert_eq!((said.code, shop.rows()), (Some(0), vec![40]), "{said:?}");
    let result = shop.world.lines("r.jsonl", "result").remove(0);
    let service = &result["server"]["services"][0];
    assert_eq!((&service["name"], &service["processes"]), (&"db".into(), &1.into()), "{result}");
    assert!(service["peak_memory_bytes"].as_u64().unwrap() > 0);
    // Of the server's tree it is none.
    assert_eq!(result["server"]["processes"], 1);
    let reasons = result["trial"]["verdict"]["reasons"].as_array().unwrap();
    let is_said = reasons.iter().any(|reason| reason["code"] == "service_shares_cpus");
    assert_eq!(is_said, service["shares_cpus"] == true, "{reasons:?}");
    let header = shop.world.lines("r.jsonl", "header").remove(0);
    let client = header["client_cpus"].as_array().unwrap();
    assert!(service["cpus"].as_array().unwrap().iter().all(|cpu| !client.contains(cpu)), "{header}");
    assert!(said.out.contains("Services under c4"), "{}", said.out);
    let report = |format: &str| shop.world.prony(&["report", "r.jsonl", "--format", format]).out;
    assert!(report("markdown").contains("| shop | db |"), "{}", report("markdown"));
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(json["plans"][0]["rows"][0]["services"][0]["name"], "db", "{json}");
    assert!(shop.world.read("r.html").contains("Services under"));
    shop.assert_nothing_left();
}

/// The reset fails unless it responds as the contract's upstream does, and no sooner.
#[test]
fn the_contract_s_upstream_is_this_program_and_responds_after_10_ms() {
    let shop = Shop::new();
    let ask = "python3 -c 'import time, urllib.request as u; t = time.monotonic(); b = u.urlopen(\"http://127.0.0.1:{upstream_port}/\").read(); \
               assert b == b\"Hello, World!\" and time.monotonic() - t >= 0.01'";
    let program = format!("target={BINARY} target --port {{port}}");
    let said = shop.bench(&[
        "--candidate",
        &program,
        "--service",
        "upstream=contract",
        "--reset",
        ask,
        "--blocks",
        "1",
    ]);
    assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new()]), "{said:?}");
    let header = shop.world.lines("r.jsonl", "header").remove(0);
    assert_eq!(header["services"][0]["command"], "contract", "{header}");
    let said = shop.bench(&["--candidate", &program, "--service", "cache=contract"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("\"cache\" is no service of the contract"), "{said:?}");
    shop.assert_nothing_left();
}

/// Of the window alone, it is less than what the kernel charged the service for its whole life.
#[test]
fn a_service_costs_no_more_than_the_kernel_charged_it() {
    let shop = Shop::new();
    let db = "db=exec @ cost {port} cost";
    let said = shop.bench(&["--candidate", APP, "--service", db, "--blocks", "1"]);
    assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new()]), "{said:?}");
    let result = shop.world.lines("r.jsonl", "result").remove(0);
    let service = &result["server"]["services"][0];
    let charged: Vec<u64> = shop.world.read("cost").split(' ').map(|n| n.parse().unwrap()).collect();
    let figure = |name: &str| service[name].as_u64().unwrap();
    assert!((1..=charged[0]).contains(&figure("window_cpu_ns")), "{service} {charged:?}");
    assert!((1 << 20..=charged[1]).contains(&figure("peak_memory_bytes")), "{service} {charged:?}");
    shop.assert_nothing_left();
}

/// Those of the run come up before those of the recipe, and all of them before the candidate.
#[test]
fn an_experiment_and_a_recipe_have_services_of_their_own() {
    let shop = Shop::new();
    let (program, folder) = (&shop.program, shop.world.path("").display().to_string());
    let words: Vec<String> = program.split(' ').map(|word| format!("{word:?}")).collect();
    let recipe = format!(
        "schema = \"prony.server/1\"\ntitle = \"A shop\"\nlanguage = \"Python\"\nkind = \"runtime\"\nroutes = []\n\
         processes = \"single\"\nkeepalive = true\n[start]\ncommand = [{}, \"app\", \"{{port}}\", \"{{db_port}}\"]\n\
         [service.db]\ncommand = \"exec {program} serve {{port}} {folder}/rows-db-{{port}}\"\n\
         [[check]]\nrequest = \"GET /\"\nstatus = 200\n",
        words.join(", ")
    );
    fs::create_dir_all(shop.world.path("prony/servers/shop")).unwrap();
    shop.world.write("prony/servers/shop/server.toml", &recipe);
    let experiment = format!(
        "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"shop\"]\nblocks = 2\n\
         reset = \"exec {program} reset {{cache_port}}\"\n[service.cache]\ncommand = \"exec {program} serve {{port}} {folder}/rows-cache\"\n\
         keep = true\n[load]\nconnections = 4\nrequests = 40\nwarmup = \"0s\"\n[[plan]]\n"
    );
    shop.world.write("e.toml", &experiment);
    let said = shop.world.prony(&["bench", "e.toml", "-q", "-o", "r.jsonl"]);
    assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new(); 2]), "{said:?}");
    for result in shop.world.lines("r.jsonl", "result") {
        let services = result["server"]["services"].as_array().unwrap();
        let names: Vec<&Value> = services.iter().map(|service| &service["name"]).collect();
        assert_eq!(names, ["cache", "db"], "{result}");
    }
    // What the recipe's is asked, its readiness and checks included; the other one is only reset.
    let rows = shop.rows();
    assert!(rows.len() == 3 && rows.iter().filter(|rows| **rows >= 40).count() == 2, "{rows:?}");
    assert_eq!(shop.world.read("rows-cache"), "");
    shop.assert_nothing_left();
}

#[test]
fn each_trial_has_its_own_service_unless_that_is_kept() {
    for (keep, databases) in [(&[][..], 3), (&["--keep-service", "db"][..], 1)] {
        let shop = Shop::new();
        let flags = ["--candidate", APP, "--service", DB, "--blocks", "3"];
        let said = shop.bench(&[&flags, keep].concat());
        assert_eq!((said.code, shop.rows().len()), (Some(0), databases), "{said:?}");
        assert!(shop.rows().iter().sum::<usize>() >= 120);
        shop.assert_nothing_left();
    }
}

#[test]
fn a_service_is_ready_by_command_or_url_and_its_port_is_given() {
    for ready in ["db=@ reset {port} && test $CACHE_PORT = {cache_port}", "db=http://127.0.0.1:{port}/"] {
        let shop = Shop::new();
        let cache = ["--service", "cache=exec @ serve {port} cached"];
        let db = "db=test {cache_port} = $CACHE_PORT && exec @ serve {port} rows-{port}";
        let app = "env=test $DB_PORT = {db_port} && exec @ app {port} $DB_PORT";
        let reset = "test $DB_PORT = {db_port} && test {cache_port} = $CACHE_PORT";
        let flags = ["--service", db, "--service-ready", ready, "--candidate", app, "--reset", reset];
        let said = shop.bench(&[&cache[..], &flags, &["--blocks", "1"]].concat());
        assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new()]), "{said:?}");
        shop.assert_nothing_left();
    }
}

#[test]
fn a_failed_service_or_reset_is_said_of_each_trial() {
    let hold = "db=exec @ hold {port}";
    for (service, more, words) in [
        (
            "db=echo no luck {port}; exit 3",
            &[][..],
            "service db ended with exit code 3 before it was ready. It wrote:\n  no luck",
        ),
        (
            hold,
            &["--service-ready", "db=false"][..],
            "service db was not ready within 1s: the command by which it is ready",
        ),
        (hold, &[][..], "service db was not ready within 1s: nothing accepted connections on its port"),
        (
            "db=exec @ mortal {port} 30",
            &[][..],
            "service db ended with exit code 4 while shop was loaded. It wrote:\n  no more rows",
        ),
        (
            DB,
            &["--reset", "echo not now >&2; exit 7"][..],
            "The reset ended with exit code 7. It wrote:\n  not now",
        ),
        (
            DB,
            &["--reset", "exec @ hold held", "--reset-timeout", "1s"][..],
            "The reset did not end within 1s",
        ),
        (DB, &["--reset", "nosuch-{db_port}"][..], "The reset ended with exit code 127"),
    ] {
        let shop = Shop::new();
        let wait = if service == hold { &["--service-timeout", "db=1s"][..] } else { &[] };
        let flags = ["--candidate", APP, "--service", service, "--blocks", "1"];
        let said = shop.bench(&[&flags, more, wait].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        let failures = shop.failures();
        assert!(failures.len() == 1 && failures[0].starts_with(words), "{failures:?}");
        shop.assert_nothing_left();
    }
}

/// Its seed is in it before anything else asks.
#[test]
fn postgresql_is_started_with_its_seed_or_quotes_its_failure() {
    if !has("postgresql_is_started_with_its_seed_or_quotes_its_failure", &[Need::Postgresql]) {
        return;
    }
    let shop = Shop::new();
    shop.world.write("seed.sql", "CREATE TABLE item AS SELECT generate_series(1, 3);\n");
    let seed = format!("db=postgresql:{}", shop.world.path("seed.sql").display());
    let ask = "psql -X -h 127.0.0.1 -p {db_port} -U prony prony";
    let count = format!("n=$({ask} -Atc 'SELECT count(*) FROM item') && [ $n = 3 ]");
    let flags = [
        "--candidate",
        "shop=exec @ serve {port} rows-{port}",
        "--blocks",
        "2",
        "--service",
        &seed,
        "--reset",
        &count,
    ];
    let said = shop.bench(&flags);
    assert_eq!(shop.failures(), [""; 2].map(str::to_owned), "{said:?}");
    let header = shop.world.lines("r.jsonl", "header").remove(0);
    let recorded = header["services"][0]["command"].as_str().unwrap_or_default();
    assert!(recorded.starts_with("postgresql:") && recorded.ends_with("seed.sql"), "{recorded}");
    shop.assert_nothing_left();
    let shop = Shop::new();
    shop.world.write("wrong.sql", "CREATE TABEL item (id integer);\n");
    let wrong = format!("db=postgresql:{}", shop.world.path("wrong.sql").display());
    shop.bench(&["--candidate", APP, "--blocks", "1", "--service", &wrong]);
    let said = shop.failures().concat();
    assert!(said.starts_with("service db ended with exit code 3") && said.contains("TABEL"), "{said}");
    shop.assert_nothing_left();
}

/// However much it prints, its log is bounded and the run goes on.
#[test]
fn a_service_that_prints_for_ever_hinders_nothing() {
    let shop = Shop::new();
    let db = "db=yes & exec @ serve {port} rows-{port}";
    let said = shop.bench(&["--candidate", APP, "--service", db, "--blocks", "1"]);
    assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new()]), "{said:?}");
    shop.assert_nothing_left();
}

#[test]
fn who_took_a_services_port_is_named() {
    let shop = Shop::new();
    let db = "db=echo {port} >port; exec @ hold {run}/x";
    let child = shop.start(&["--candidate", APP, "--service", db, "--blocks", "1"]);
    let port = || fs::read_to_string(shop.world.path("port")).ok()?.trim().parse::<u16>().ok();
    wait_until("the service's port", || port().is_some());
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port().unwrap())).unwrap();
    let said: Said = child.wait_with_output().unwrap().into();
    drop(taken);
    let failure = shop.failures().concat();
    let own = format!("process {} (", std::process::id());
    assert!(
        failure.contains("service db: ") && failure.contains("listens on its port") && failure.contains(&own),
        "{failure} {said:?}"
    );
    shop.assert_nothing_left();
}

#[test]
fn a_name_that_nothing_has_is_an_error_before_anything_starts() {
    for (flags, words) in [
        (&["--candidate", "a=x {port} {dp_port}", "--service", DB][..], "did you mean \"db_port\"?"),
        (&["--candidate", "a=x {port} {db_port}"], "give --service db='COMMAND {port}'"),
        (&["--candidate", APP, "--service", "db=x {prot} {port}"], "{prot}"),
        (&["--candidate", APP, "--service", DB, "--reset", "x {pg_port}"], "The reset has {pg_port}"),
        (&["--candidate", APP, "--service", DB, "--service-ready", "pg=true"], "there is no such service"),
        (&["--candidate", APP, "--service", DB, "--keep-service", "pg"], "there is no such service"),
        (&["--candidate", APP, "--service", "db=x"], "has no {port}"),
        (&["--candidate", "a=http://127.0.0.1:1/", "--service", DB], "is a URL"),
        (&["--candidate", APP, "--service", DB, "--reset-timeout", "5s"], "give both"),
        (
            &["--candidate", APP, "--candidate", "b=x {port}", "--service", DB, "--reset", "true", "--duet"],
            "--duet",
        ),
    ] {
        let shop = Shop::new();
        let said = shop.bench(flags);
        assert!(said.code == Some(2) && said.err.contains(words), "{flags:?}: {said:?}");
        assert!(!shop.world.path("r.jsonl").exists());
    }
}

/// In the reset, in mid load, and while a service is not ready: the guards end everything, and the run goes on.
#[test]
fn kill_9_of_prony_at_any_step_leaves_only_a_resumable_run() {
    let held = "test -e go || exec @ hold held";
    let db = |script: &str| format!("db={script}; exec @ serve {{port}} rows-{{port}}");
    let probe = format!("db={held}");
    let steps = [
        (db(held), APP.to_owned(), vec![]),
        (DB.to_owned(), APP.to_owned(), vec!["--service-ready", &probe]),
        (DB.to_owned(), APP.to_owned(), vec!["--reset", held]),
        (DB.to_owned(), format!("shop={held}; exec @ app {{port}} {{db_port}}"), vec![]),
    ];
    for (db, app, more) in &steps {
        let shop = Shop::new();
        let flags = [&["--candidate", app, "--service", db, "--blocks", "1"][..], more].concat();
        let mut child = shop.start(&flags);
        wait_until("the step", || shop.world.path("held").exists());
        send(child.id(), Signal::SIGKILL);
        child.wait().unwrap();
        let mark = shop.world.path("").display().to_string();
        wait_until("what the run started is gone", || processes_naming(&mark).is_empty());
        shop.world.write("go", "");
        let said = shop.bench(&[&flags[..], &["--resume"]].concat());
        assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new()]), "{db} {more:?}: {said:?}");
        shop.assert_nothing_left();
        // With another reset or service it is another run.
        let said = shop.bench(&[&flags[..4], &["--resume", "--blocks", "2"]].concat());
        assert!(more.is_empty() || said.err.contains("its services"), "{said:?}");
    }
}

/// A server that closes its connections leaves its port in TIME_WAIT, and the next one listens there all the same.
#[test]
fn an_application_s_own_port_is_used_again_or_its_owner_named() {
    let shop = Shop::new();
    // Below what is given out to anybody who asks for a free one.
    let first = 7_000 + u16::try_from(std::process::id() % 2_000).unwrap();
    let free = (first..9_500).find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()).unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    let app = format!("fixed=exec @ serve {port} rows-{port}");
    let flags = ["--candidate", &app, "--port", &port, "--blocks", "3", "--no-keepalive"];
    let said = shop.bench(&flags);
    let own = format!("fixed listens on port {port}, which process {} (", std::process::id());
    let failures = shop.failures();
    let is_told = !failures.is_empty() && failures.iter().all(|failure| failure.starts_with(&own));
    assert!(is_told, "{failures:?} {said:?}");
    drop(free);
    fs::remove_file(shop.world.path("r.jsonl")).unwrap();
    let said = shop.bench(&flags);
    assert_eq!((said.code, shop.failures()), (Some(0), vec![String::new(); 3]), "{said:?}");
    let header = shop.world.lines("r.jsonl", "header").remove(0);
    assert_eq!(header["candidates"][0]["settings"][0]["value"], port.as_str());
    shop.assert_nothing_left();
}

/// As they stand on the page, with programs of these names beside them.
#[test]
fn the_page_s_commands_with_services_run_as_they_stand_there() {
    let shop = Shop::new();
    for (name, does) in [("shop", "app"), ("db", "serve"), ("fill", "reset"), ("ping", "reset")] {
        let script = format!("#!/bin/sh\nexec {} {does} \"$@\"\n", shop.program);
        shop.world.write(name, &script);
        fs::set_permissions(shop.world.path(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/your-application.md");
    let page = fs::read_to_string(path).unwrap();
    let commands = commands(page.split("## With a database").nth(1).unwrap());
    assert_eq!(commands.len(), 2);
    for command in commands {
        let said = shop.world.shell(&command);
        assert!(said.code == Some(0) && said.out.contains("Services under"), "{command}: {said:?}");
        shop.assert_nothing_left();
    }
}
