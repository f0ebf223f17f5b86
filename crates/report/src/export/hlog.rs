//! `.hlog`: HdrHistogram's interval log, a histogram per second, written by the `hdrhistogram` crate.

use std::io::{self, Write};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use prony_model::Trial;
use prony_model::hdr;

use super::wall_clock;

const VERSION: &str = "[Histogram log format version 1.3]";
/// The columns' names, which no comment sign precedes; readers skip the line.
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"";
/// The column Interval_Max is for people: in milliseconds. The histograms are in nanoseconds.
const MAX_DIVISOR: f64 = 1e6;

/// Writes the response times of the window's completed requests, an interval per entry of the series, of several trials
/// by start. Timestamps are seconds since the first one's window began, the log's base time.
pub fn write(trials: &[&Trial], out: &mut dyn Write) -> io::Result<()> {
    let mut out = out;
    let mut serializer = V2DeflateSerializer::new();
    let mut placed =
        trials.iter().map(|trial| Ok((wall_clock(trial, 0)?, *trial))).collect::<io::Result<Vec<_>>>()?;
    placed.sort_by_key(|(at, _)| *at);
    let Some((start, first)) = placed.first().copied() else { return Ok(()) };
    IntervalLogWriterBuilder::new()
        .add_comment(VERSION)
        .add_comment(&format!("[Logged with {} {}]", first.tool.name, first.tool.version))
        .add_comment("[Response times in nanoseconds]")
        .with_start_time(start)
        .with_base_time(start)
        .begin_log_with(&mut out, &mut serializer)?;
    writeln!(out, "{LEGEND}")?;
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(MAX_DIVISOR)
        .begin_log_with(&mut out, &mut serializer)?;
    for (began, trial) in placed {
        let since = began.duration_since(start).unwrap_or_default();
        for second in &trial.series {
            let histogram = hdr::to_hdr(&second.hdr);
            let at = since + Duration::from_nanos(second.at_ns);
            let length = Duration::from_nanos(second.length_ns);
            log.write_histogram(&histogram, at, length, None).map_err(|e| io::Error::other(e.to_string()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use prony_model::histogram::SparseHistogram;
    use prony_model::testing;

    fn written(trial: &Trial) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&[trial], &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_hdrhistogram_crate_reads_back_the_log() {
        let seconds: [&[u64]; 4] = [&[1_000_000, 2_000_000, 3_599_000_000_000], &[], &[45_000; 1000], &[7]];
        let trial = testing::trial(&seconds);
        let bytes = written(&trial);
        let mut merged = SparseHistogram::default();
        let mut intervals = 0;
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
                    // 2026-11-21T12:00:00Z and the warm-up of 1.5 s.
                    assert_eq!(at, Duration::from_millis(1_795_262_401_500));
                }
                LogEntry::Interval(interval) => {
                    let histogram = hdr::decode(interval.encoded_histogram()).unwrap();
                    let second = &trial.series[intervals];
                    assert_eq!(interval.start_timestamp(), Duration::from_nanos(second.at_ns));
                    assert_eq!(interval.duration(), Duration::from_nanos(second.length_ns));
                    assert_eq!(histogram, second.hdr);
                    assert_eq!(histogram.len(), second.completed);
                    assert!((interval.max() - histogram.max() as f64 / 1e6).abs() < 0.001);
                    merged.add(&histogram);
                    intervals += 1;
                }
            }
        }
        assert_eq!((intervals, merged.len()), (4, 1004));
        assert_eq!(merged, trial.latency.response.hdr);
    }

    #[test]
    fn several_trials_stand_where_they_were_in_time() {
        let first = testing::trial(&[&[1_500_000], &[2_500_000]]);
        let later =
            Trial { started_at: "2026-11-21T12:01:00.000Z".to_owned(), ..testing::trial(&[&[7_000_000]]) };
        let mut bytes = Vec::new();
        write(&[&later, &first], &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("#[StartTime: 1795262401.500"), "{text}");
        let starts: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split(',').next().unwrap())
            .collect();
        assert_eq!(starts, ["0.000", "1.000", "60.000"]);
    }

    #[test]
    fn the_header_lines_are_those_of_the_format() {
        let text = String::from_utf8(written(&testing::trial(&[&[1_500_000]]))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert_eq!(lines[3], "#[StartTime: 1795262401.500 (seconds since epoch)]");
        assert_eq!(lines[4], "#[BaseTime: 1795262401.500 (seconds since epoch)]");
        assert!(lines[5].starts_with("\"StartTimestamp\""));
        assert!(lines.last().unwrap().starts_with("0.000,1.000,1.500,HISTFAAA"), "{text}");
    }
}
