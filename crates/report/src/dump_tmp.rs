use crate::{fixtures, markdown, terminal};
#[test]
fn dump() {
    let o = terminal::TerminalOptions::default();
    let d = [("CLOSED", terminal::trial(&fixtures::closed(), &o)), ("OVERLOADED", terminal::trial(&fixtures::overloaded(), &o)),
    ("BROKEN", terminal::trial(&fixtures::broken(), &o)), ("DOUBTFUL", terminal::trial(&fixtures::doubtful(), &o)),
    ("EXPERIMENT", terminal::experiment(&fixtures::experiment(), &o)), ("HOSTILE", terminal::experiment(&fixtures::hostile(), &o)),
    ("MDEXP", markdown::experiment(&fixtures::hostile())), ("MDTRIAL", markdown::trial(&fixtures::doubtful())), ("MDBROKEN", markdown::trial(&fixtures::broken()))];
    for (n, t) in d { std::fs::write(format!("/tmp/pg/{n}.txt"), t).unwrap(); }
}
