//! The fuzz target over files of control groups (fuzz/), a second of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/cgroup.rs"]
mod cgroup;
#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[test]
fn any_files_of_control_groups_are_read() {
    mutate::play("cgroup", 20_000, cgroup::check);
}
