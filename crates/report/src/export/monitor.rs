//! What the machines of trials did second by second, as CSV (RFC 4180): a line per span and CPU.

use std::io::{self, Write};

use prony_model::monitor::{Monitor, Ticks, of_trial};
use prony_model::run_log::PlannedTrial;
use prony_model::server::ServerSamples;
use prony_model::{Trial, rfc3339};

use super::csv::line;
use super::wall_clock;

const COLUMNS: &str = "time,cpu,user,system,idle,iowait,irq,softirq,steal,memory_used,buffers,cached,free,\
    network_received,sent,loopback,at_s,length_s,machine,index,candidate,plan";

/// A trial whose server cost this, and its place in a run, if it has one.
#[derive(Debug, Clone, Copy)]
pub struct Monitored<'a> {
    pub trial: &'a Trial,
    pub server: Option<&'a ServerSamples>,
    pub place: Option<&'a PlannedTrial>,
}

impl Monitored<'_> {
    pub(super) fn alone(trial: &Trial) -> Monitored<'_> {
        Monitored { trial, server: trial.server.as_ref(), place: None }
    }
}

/// Of every trial, machine and span in turn a line of each CPU and one of all, `total`, which has memory and network, too.
/// An error where nobody looked at any of the machines.
pub fn write(trials: &[Monitored<'_>], out: &mut dyn Write) -> io::Result<()> {
    let machines = || {
        trials
            .iter()
            .flat_map(|one| of_trial(one.trial, one.server).map(move |(name, seen)| (one, name, seen)))
    };
    if machines().next().is_none() {
        return Err(io::Error::other(
            "nothing is known of what the machine did: the load is of a Prony from before that was recorded, or /proc could not be read",
        ));
    }
    write!(out, "{COLUMNS}\r\n")?;
    for (one, name, seen) in machines() {
        let place = one.place.map_or([const { String::new() }; 3], |place| {
            [place.index.to_string(), place.candidate.clone(), place.plan.clone()]
        });
        let start = wall_clock(one.trial, 0)?;
        for span in 0..seen.at_ms.len() {
            write_span(seen, span, start, &[&[name.to_owned()], place.as_slice()].concat(), out)?;
        }
    }
    Ok(())
}

fn write_span(
    seen: &Monitor,
    span: usize,
    start: std::time::SystemTime,
    last: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let at_ms = seen.start_ms(span + 1);
    let from_start = std::time::Duration::from_millis(at_ms.unsigned_abs());
    let at = if at_ms < 0 { start.checked_sub(from_start) } else { start.checked_add(from_start) };
    let time = at.map(rfc3339).unwrap_or_default();
    let length_s = seen.length_ms(span, span + 1) as f64 / 1e3;
    let mut row = |cpu: String, ticks: Ticks, others: [String; 7]| {
        let all = ticks.iter().sum::<u64>().max(1) as f64;
        let percent = ticks.iter().map(|n| format!("{:.1}", *n as f64 * 100.0 / all));
        let instant = [(at_ms as f64 / 1e3).to_string(), length_s.to_string()];
        let fields = [time.clone(), cpu].into_iter().chain(percent).chain(others).chain(instant);
        out.write_all(line(fields.chain(last.iter().cloned())).as_bytes())
    };
    for cpu in &seen.cpus {
        if let Some(number) = cpu.cpu {
            row(number.to_string(), cpu.ticks(span, span + 1), Default::default())?;
        }
    }
    let memory = seen.memory(span).map_or_else(Default::default, |m| m.map(|bytes| bytes.to_string()));
    let per_s = |bytes: u64| format!("{:.0}", bytes as f64 / length_s);
    let network = seen.network(span, span + 1).map_or_else(Default::default, |n| n.map(per_s));
    let ([used, buffers, cached, free], [received, sent, loopback]) = (memory, network);
    let others = [used, buffers, cached, free, received, sent, loopback];
    row("total".to_owned(), seen.together(span, span + 1), others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::monitor::CpuColumns;
    use prony_model::server_host::ServerHostWindow;
    use prony_model::testing;

    fn written(trials: &[Monitored<'_>]) -> Vec<String> {
        let mut bytes = Vec::new();
        write(trials, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().split_terminator("\r\n").map(str::to_owned).collect()
    }

    fn seen() -> Monitor {
        let cpu = |n: u32, user: u64| {
            CpuColumns::of(Some(n), [[user, 1, 99 - user, 0, 0, 0, 0], [0, 0, 50, 0, 0, 0, 0]].into_iter())
        };
        Monitor {
            from_ms: -1_000,
            at_ms: vec![0, 500],
            cpus: vec![cpu(0, 49), cpu(1, 0)],
            received_bytes: vec![10, 20],
            sent_bytes: vec![1, 2],
            loopback_bytes: vec![0, 3],
            memory_used_bytes: vec![4, 4],
            memory_buffers_bytes: vec![3, 3],
            memory_cached_bytes: vec![2, 2],
            memory_free_bytes: vec![1, 1],
        }
    }

    #[test]
    fn every_span_has_a_line_of_each_cpu_and_of_all() {
        let trial = Trial { monitor: Some(seen()), ..testing::trial(&[&[]]) };
        let lines = written(&[Monitored::alone(&trial)]);
        assert_eq!(
            lines,
            [
                "time,cpu,user,system,idle,iowait,irq,softirq,steal,memory_used,buffers,cached,free,network_received,sent,loopback,at_s,length_s,machine,index,candidate,plan",
                "2026-11-21T12:00:01.500Z,0,49.0,1.0,50.0,0.0,0.0,0.0,0.0,,,,,,,,0,1,,,,",
                "2026-11-21T12:00:01.500Z,1,0.0,1.0,99.0,0.0,0.0,0.0,0.0,,,,,,,,0,1,,,,",
                "2026-11-21T12:00:01.500Z,total,24.5,1.0,74.5,0.0,0.0,0.0,0.0,4,3,2,1,10,1,0,0,1,,,,",
                "2026-11-21T12:00:02.000Z,0,0.0,0.0,100.0,0.0,0.0,0.0,0.0,,,,,,,,0.5,0.5,,,,",
                "2026-11-21T12:00:02.000Z,1,0.0,0.0,100.0,0.0,0.0,0.0,0.0,,,,,,,,0.5,0.5,,,,",
                "2026-11-21T12:00:02.000Z,total,0.0,0.0,100.0,0.0,0.0,0.0,0.0,4,3,2,1,40,4,6,0.5,0.5,,,,",
            ]
        );
    }

    #[test]
    fn trials_on_two_machines_have_lines_of_both() {
        let mut log = crate::fixtures::on_two_hosts();
        for result in &mut log.results {
            result.trial.as_mut().unwrap().monitor = Some(seen());
            let host = result.server.as_mut().unwrap().host.as_mut().unwrap();
            *host = ServerHostWindow { monitor: Some(seen()), ..host.clone() };
        }
        let trials: Vec<Monitored<'_>> = log
            .results
            .iter()
            .map(|r| Monitored {
                trial: r.trial.as_ref().unwrap(),
                server: r.server.as_ref(),
                place: Some(&r.planned),
            })
            .collect();
        let lines = written(&trials);
        assert_eq!(lines.len(), 1 + trials.len() * 2 * 6);
        let place = &log.results[0].planned;
        let ends = |machine: &str| format!(",{machine},0,{},{}", place.candidate, place.plan);
        assert!(lines[1].ends_with(&ends("server")) && lines[7].ends_with(&ends("client")), "{lines:?}");
    }

    #[test]
    fn a_log_without_a_monitor_is_an_error() {
        let trial = testing::trial(&[&[]]);
        let why = write(&[Monitored::alone(&trial)], &mut Vec::new()).unwrap_err();
        assert!(why.to_string().contains("from before"), "{why}");
    }
}
