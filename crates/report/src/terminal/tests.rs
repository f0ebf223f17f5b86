use super::*;
use crate::fixtures;
#[test]
fn show() {
    let o = TerminalOptions::default();
    for t in [fixtures::closed(), fixtures::overloaded(), fixtures::broken(), fixtures::doubtful()] {
        println!("{}\n--------------------------------------------------------------------------------", trial(&t, &o));
    }
    println!("{}\n-----", experiment(&fixtures::experiment(), &o));
    println!("{}\n-----", experiment(&fixtures::hostile(), &o));
    println!("{}\n-----", crate::markdown::experiment(&fixtures::hostile()));
    println!("{}\n-----", crate::markdown::trial(&fixtures::doubtful()));
}
