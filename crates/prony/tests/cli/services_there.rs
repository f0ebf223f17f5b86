//! Services and resets of servers on another host run there: they need network namespaces, ssh and sshd, and python3.

use std::fs;

use serde_json::Value;

use crate::server_host::TwoHosts;

/// Why each trial was not measured; empty of one that was.
fn failures(hosts: &TwoHosts) -> Vec<String> {
    let why = |result: Value| result["failure"].as_str().unwrap_or_default().to_owned();
    hosts.world.lines("r.jsonl", "result").into_iter().map(why).collect()
}

#[test]
fn services_and_resets_run_and_are_sampled_on_the_servers_host() {
    let Some(hosts) = TwoHosts::new("services on a server's host") else { return };
    hosts.world.write("services.py", include_str!("services.py"));
    let program = format!("exec python3 {}", hosts.world.path("services.py").display());
    let rows = hosts.world.path("rows").display().to_string();
    let flags = [
        format!("--candidate=shop={program} app {{port}} {{db_port}} {{host}}"),
        format!("--service=db={program} serve {{port}} {rows}-{{port}}"),
        format!("--reset={program} reset {{db_port}}"),
    ];
    let load = ["bench", "-n", "40", "-c", "4", "--warmup", "0", "--blocks", "2", "-o", "r.jsonl"];
    let line: Vec<&str> = load.into_iter().chain(flags.iter().map(String::as_str)).collect();
    let said = hosts.prony(&[&line[..], &["--allow-commands"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(failures(&hosts), [""; 2]);
    let files = fs::read_dir(hosts.world.path("")).unwrap().flatten();
    let counted = files.filter(|file| file.file_name().to_string_lossy().starts_with("rows-"));
    let mut counted: Vec<usize> = counted.map(|file| fs::read(file.path()).unwrap().len()).collect();
    counted.sort_unstable();
    // Reset after the first trial's check; in the second one, the request by which it was ready is counted, too.
    assert_eq!(counted, [40, 41]);
    for result in hosts.world.lines("r.jsonl", "result") {
        let service = &result["server"]["services"][0];
        assert_eq!((&service["name"], &service["processes"]), (&"db".into(), &1.into()), "{result}");
        assert!(service["window_cpu_ns"].as_u64().is_some_and(|cpu| cpu > 0), "{service}");
    }
    hosts.nothing_is_left();
    fs::remove_file(hosts.world.path("r.jsonl")).unwrap();
    let said = hosts.prony(&line);
    let failures = failures(&hosts);
    assert!(
        failures[0].contains("The service db is a command") && failures[0].contains("--allow-commands"),
        "{said:?}"
    );
    hosts.nothing_is_left();
}
