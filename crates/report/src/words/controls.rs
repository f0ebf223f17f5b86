//! What a run's control says of its ranks, in a sentence.

use prony_analysis::controls::Twin;
use prony_model::Estimate;

use super::planning::whole;
use crate::format;

/// `twin of go-net-http: not told apart (±2.1 %); a planted 3 % would be found in 4 of 5 runs like this`.
pub(crate) fn twin(twin: &Twin) -> String {
    let of = format::printable(&twin.of);
    // Ranks are by throughput: that goes without saying.
    let by = if twin.figure == "throughput" { String::new() } else { format!(" by {}", twin.figure) };
    let Some(apart) = twin.apart else {
        let why = twin.ratio.as_ref().and_then(|ratio| ratio.no_interval.clone());
        let died = twin.row.died.map(|deaths| format!("its server {deaths}"));
        let why = died.or(why).unwrap_or_else(|| "fewer than two blocks have both".to_owned());
        return format!("twin of {of}: not compared{by}: {why}");
    };
    if apart {
        let ratio = twin.ratio.as_ref().map_or(String::new(), |ratio| format!(", {}", difference(ratio)));
        return format!(
            "twin of {of}: TOLD APART{by}{ratio}: within this run, something differs between two starts of the same \
             server; differences of this size between candidates are not to be believed either"
        );
    }
    let half = twin.ratio.as_ref().and_then(Estimate::relative_half_width);
    let half = half.map_or(String::new(), |half| format!(" (±{})", format::percent(half)));
    let planted = whole(twin.planted.difference);
    let found = twin.planted.chance.map_or(String::new(), |chance| {
        format!("; a planted {planted} would be found in {} runs like this", of_runs(chance))
    });
    format!("twin of {of}: not told apart{by}{half}{found}")
}

/// `2.4 % more (1.3 to 3.5 %)`, of the twin's figure beside its candidate's.
fn difference(ratio: &Estimate) -> String {
    let change = ratio.point - 1.0;
    let (more, sign) = if change >= 0.0 { ("more", 1.0) } else { ("less", -1.0) };
    let ends = ratio.ci_low.zip(ratio.ci_high).map_or(String::new(), |(low, high)| {
        let mut ends = [sign * (low - 1.0), sign * (high - 1.0)];
        ends.sort_by(f64::total_cmp);
        format!(" ({} to {})", format::percent(ends[0]).trim_end_matches(" %"), format::percent(ends[1]))
    });
    format!("{} {more}{ends}", format::percent(change.abs()))
}

/// A chance in plain words: `4 of 5`, `3 of 10`.
fn of_runs(chance: f64) -> String {
    match format!("{:.0}", chance * 10.0).parse::<u32>().unwrap_or(0) {
        0 => "fewer than 1 of 20".to_owned(),
        10.. => "at least 19 of 20".to_owned(),
        5 => "1 of 2".to_owned(),
        even if even % 2 == 0 => format!("{} of 5", even / 2),
        odd => format!("{odd} of 10"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::twin as alike;

    #[test]
    fn a_twin_that_is_not_told_apart_says_what_would_be_found() {
        let mut of = alike();
        assert_eq!(
            twin(&of),
            "twin of nginx-fpm: not told apart (±2.1 %); a planted 3 % would be found in 4 of 5 runs like this"
        );
        (of.figure, of.planted.chance) = ("p99", None);
        assert_eq!(twin(&of), "twin of nginx-fpm: not told apart by p99 (±2.1 %)");
        let said = [0.0, 0.049, 0.051, 0.31, 0.5, 0.62, 0.94, 0.96, 1.0].map(of_runs);
        let few = ["fewer than 1 of 20", "fewer than 1 of 20", "1 of 10", "3 of 10", "1 of 2", "3 of 5"];
        assert_eq!(said[..6], few);
        assert_eq!(said[6..], ["9 of 10", "at least 19 of 20", "at least 19 of 20"]);
    }

    #[test]
    fn a_twin_that_is_told_apart_takes_the_ranks_belief() {
        let mut of = alike();
        of.apart = Some(true);
        of.ratio = Some(Estimate::new(0.95, 0.93, 0.972, 5));
        let said = twin(&of);
        assert!(
            said.starts_with("twin of nginx-fpm: TOLD APART, 5.0 % less (2.8 to 7.0 %): within this run"),
            "{said}"
        );
        of.apart = None;
        of.ratio = Some(Estimate::bare(1.0, 1, "one block has no interval"));
        assert_eq!(twin(&of), "twin of nginx-fpm: not compared: one block has no interval");
        of.ratio = None;
        assert_eq!(twin(&of), "twin of nginx-fpm: not compared: fewer than two blocks have both");
    }
}
