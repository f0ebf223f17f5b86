//! `prony doctor`: looks, and changes nothing unasked.

use serde_json::Value;

use crate::world::World;

fn setting(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[test]
fn the_doctor_needs_no_root_and_changes_nothing() {
    let files = [
        "/proc/sys/net/core/somaxconn",
        "/proc/sys/net/ipv4/ip_local_port_range",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ];
    let before: Vec<Option<String>> = files.iter().map(|path| setting(path)).collect();
    let world = World::new();
    let said = world.prony(&["doctor", "--quick"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["net.core.somaxconn", "cores", "open files", "skipped by --quick"] {
        assert!(said.out.contains(words), "{words:?} is missing: {}", said.out);
    }
    // Every finding that distorts says what mends it.
    let said = world.prony(&["doctor", "--quick", "--format", "json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&report["schema"], &report["measured"]), (&"prony.doctor/1".into(), &Value::Null));
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() >= 8, "{findings:?}");
    for finding in findings {
        assert!(finding["why"].as_str().is_some_and(|why| why.ends_with('.')), "{finding}");
        assert!(finding["state"] != "distorts" || finding["mend"].is_string(), "{finding}");
    }
    assert_eq!(files.iter().map(|path| setting(path)).collect::<Vec<_>>(), before);
    assert!(!world.path("state/doctor-restore.json").exists() && !world.path(".prony").exists());
}

#[test]
fn restore_without_apply_is_refused() {
    let world = World::new();
    let said = world.prony(&["doctor", "--restore"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("There is nothing to restore"), "{said:?}");
    let said = world.prony(&["doctor", "--restore", "--apply"]);
    assert_eq!(said.code, Some(2), "{said:?}");
}

/// In a network namespace of its own, whose sysctls are nobody else's. What is the whole machine's is
/// covered up, so that a test that runs as root cannot touch it either.
#[test]
fn restore_sets_exactly_the_values_before_apply() {
    let world = World::new();
    let binary = crate::world::BINARY;
    let script = format!(
        "set -e; cd {}; mount -t tmpfs none /sys/devices/system/cpu; \
         for f in fs/file-max kernel/numa_balancing net/netfilter/nf_conntrack_max; do \
         if test -e /proc/sys/$f; then mount --bind /dev/null /proc/sys/$f; fi; done; s=/proc/sys/net/core/somaxconn; t=/proc/sys/net/ipv4/tcp_tw_reuse; \
         echo 128 > $s; echo 0 > $t; \
         {binary} doctor --quick --apply >/dev/null; cat $s $t; \
         {binary} doctor --restore; cat $s $t; test ! -e state/doctor-restore.json",
        world.path(".").display()
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--net", "--mount", "--map-root-user", "--user", "sh", "-c", &script]);
    command.env(prony_host::bench_lock::VARIABLE, world.path("turn"));
    command.env(prony_host::state::VARIABLE, world.path("state"));
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if ["unshare:", "mount:", "cannot create"].iter().any(|refused| err.contains(refused)) {
        return eprintln!("not tested: this user may have no network namespace of its own: {err}");
    }
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines, ["4096", "2", "128", "0"], "{err}");
    assert!(err.contains("somaxconn: 128 → 4096") && err.contains("somaxconn: 4096 → 128"), "{err}");
}
