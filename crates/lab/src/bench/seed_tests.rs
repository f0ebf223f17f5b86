//! Seeds of blocks.

use super::*;

/// Blocks that replayed one sequence of arrivals would be one sample of it.
#[test]
fn candidates_share_their_blocks_seed_and_blocks_differ() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 3);
    run_quick(&setup).unwrap();
    let mut by_block = vec![Vec::new(); 3];
    for result in read(&setup).results {
        by_block[result.planned.block as usize].push(result.trial.unwrap().plan.seed);
    }
    assert!(by_block.iter().all(|seeds| seeds.len() == 2 && seeds[0] == seeds[1]), "{by_block:?}");
    assert_eq!(by_block[0][0], setup.experiment.seed);
    assert!(by_block[0] != by_block[1] && by_block[1] != by_block[2], "{by_block:?}");
    assert!(by_block.iter().flatten().all(|seed| *seed < 1 << 53), "exact in JSON");
}
