//! The window second by second, as CSV (RFC 4180).

use std::io::{self, Write};

use super::{seconds, wall_clock};
use prony_model::{Trial, rfc3339};

const COLUMNS: &str =
    "at_s,length_s,completed,failed,connections,requests_per_s,p50_ns,p99_ns,max_ns,starts_at";

/// Writes a line of names and a line per entry of the series. A percentile that the trial withholds is an empty field.
pub fn write(trial: &Trial, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{COLUMNS}\r\n")?;
    let whole = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
    for second in &trial.series {
        let length_s = seconds(second.length_ns);
        let per_s = if second.length_ns > 0 { second.completed as f64 / length_s } else { 0.0 };
        write!(
            out,
            "{},{length_s},{},{},{},{per_s:.3},{},{},{},{}\r\n",
            seconds(second.at_ns),
            second.completed,
            second.failed,
            second.connections,
            whole(second.p50_ns),
            whole(second.p99_ns),
            whole(second.max_ns),
            rfc3339(wall_clock(trial, second.at_ns)?),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::testing;

    #[test]
    fn a_line_is_a_second_of_the_series() {
        let many = vec![2_000_000; 200];
        let mut trial = testing::trial(&[&many, &[], &[1_000_000]]);
        trial.series[1].failed = 4;
        trial.series[2].length_ns = 500_000_000;
        let mut bytes = Vec::new();
        write(&trial, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let p50 = trial.series[0].p50_ns.unwrap();
        let expected = [
            "at_s,length_s,completed,failed,connections,requests_per_s,p50_ns,p99_ns,max_ns,starts_at"
                .to_owned(),
            format!("0,1,200,0,8,200.000,{p50},{p50},{p50},2026-11-21T12:00:01.500Z"),
            "1,1,0,4,8,0.000,,,,2026-11-21T12:00:02.500Z".to_owned(),
            format!(
                "2,0.5,1,0,8,2.000,{},,{},2026-11-21T12:00:03.500Z",
                trial.series[2].p50_ns.unwrap(),
                trial.series[2].max_ns.unwrap()
            ),
        ];
        assert_eq!(text.split_terminator("\r\n").collect::<Vec<_>>(), expected);
    }
}
