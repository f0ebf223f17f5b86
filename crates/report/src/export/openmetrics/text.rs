//! The text format of OpenMetrics 1.0, as far as Prony writes it.
//!
//! Source: *OpenMetrics, a cloud-native, highly scalable metrics protocol*, version 1.0 (IETF
//! draft-richih-opsawg-openmetrics-00, section 3.2): families are not interleaved, each with TYPE, UNIT and HELP before
//! its samples; base units end the family's name; labels are escaped. Samples bear no time stamps, which the draft
//! advises against.

#[cfg(test)]
#[path = "grammar_tests.rs"]
#[allow(unreachable_pub, reason = "the tests of the binary include it, too")]
pub(crate) mod grammar;

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    Gauge,
    /// A count that only grows; its samples end in `_total`.
    Counter,
    /// Facts as labels; its samples end in `_info` and are 1.
    Info,
    /// One of several states; each has a sample of 0 or 1.
    StateSet,
    Summary,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Whole(u64::from(value))
    }
}

pub type Labels<'a> = [(&'a str, &'a str)];

#[derive(Debug, Default)]
pub struct Text {
    out: String,
    /// Of the family that was begun and has no sample yet.
    head: String,
    name: String,
    kind: Option<Kind>,
}

impl Text {
    pub fn new() -> Text {
        Text::default()
    }

    /// Begins a family. It is written with its first sample, and left out without one. Where `unit` is not
    /// empty the name ends in it.
    pub fn family(&mut self, name: &str, kind: Kind, unit: &str, help: &str) {
        debug_assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name} is not in {unit}");
        name.clone_into(&mut self.name);
        self.kind = Some(kind);
        self.head = format!("# TYPE {name} {kind}\n");
        if !unit.is_empty() {
            self.head.push_str(&format!("# UNIT {name} {unit}\n"));
        }
        self.head.push_str(&format!("# HELP {name} {}\n", escaped(help)));
    }

    /// A sample of the family begun last, named as its kind asks for.
    pub fn sample(&mut self, labels: &Labels<'_>, value: impl Into<Value>) {
        let suffix = match self.kind {
            Some(Kind::Counter) => "_total",
            Some(Kind::Info) => "_info",
            _ => "",
        };
        self.push(suffix, labels, value.into());
    }

    /// Quantiles (as texts from 0 to 1), count and sum of a summary.
    pub fn summary(&mut self, labels: &Labels<'_>, quantiles: &[(String, f64)], count: u64, sum: f64) {
        for (quantile, value) in quantiles {
            let with: Vec<(&str, &str)> =
                labels.iter().copied().chain([("quantile", quantile.as_str())]).collect();
            self.push("", &with, Value::Real(*value));
        }
        self.push("_count", labels, Value::Whole(count));
        self.push("_sum", labels, Value::Real(sum));
    }

    /// A state of several: a sample for each, 1 for the one that is.
    pub fn states(&mut self, labels: &Labels<'_>, all: &[&str], now: &str) {
        let name = self.name.clone();
        for state in all {
            let with: Vec<(&str, &str)> = labels.iter().copied().chain([(name.as_str(), *state)]).collect();
            self.push("", &with, Value::from(*state == now));
        }
    }

    fn push(&mut self, suffix: &str, labels: &Labels<'_>, value: Value) {
        self.out.push_str(&std::mem::take(&mut self.head));
        self.out.push_str(&self.name);
        self.out.push_str(suffix);
        if !labels.is_empty() {
            let pairs: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            self.out.push_str(&format!("{{{}}}", pairs.join(",")));
        }
        match value {
            Value::Whole(n) => self.out.push_str(&format!(" {n}\n")),
            Value::Real(v) if v.is_nan() => self.out.push_str(" NaN\n"),
            Value::Real(v) if v.is_infinite() => {
                self.out.push_str(if v > 0.0 { " +Inf\n" } else { " -Inf\n" });
            }
            Value::Real(v) => self.out.push_str(&format!(" {v}\n")),
        }
    }

    pub fn end(mut self) -> String {
        self.out.push_str("# EOF\n");
        self.out
    }
}

/// A label's value or a help text, escaped. A carriage return or other control character becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grammar::read;
    use super::*;

    #[test]
    fn every_kind_of_family_reads_back() {
        let mut text = Text::new();
        text.family("empty", Kind::Gauge, "", "Left out.");
        text.family("a", Kind::Counter, "", "Things.");
        text.sample(&[("x", "q\"\\\n\r")], u64::MAX);
        text.family("b_seconds", Kind::Gauge, "seconds", "A time.");
        text.sample(&[], 0.25);
        text.sample(&[("x", "1")], f64::NAN);
        text.family("c", Kind::Info, "", "Facts.");
        text.sample(&[("v", "1.0")], true);
        text.family("d", Kind::StateSet, "", "States.");
        text.states(&[("x", "y")], &["on", "off"], "off");
        text.family("e_seconds", Kind::Summary, "seconds", "Times.");
        text.summary(&[("x", "y")], &[("0.5".into(), 0.1), ("0.99".into(), f64::INFINITY)], 3, 0.4);
        let text = text.end();
        let read = read(&text).unwrap();
        assert!(!text.contains("empty"), "{text}");
        assert_eq!(read.value("a_total", &[("x", "q\"\\\n\u{fffd}")]), Some(u64::MAX as f64));
        assert_eq!(read.value("b_seconds", &[]), Some(0.25));
        assert_eq!(read.value("d", &[("x", "y"), ("d", "off")]), Some(1.0));
        assert_eq!(read.value("d", &[("x", "y"), ("d", "on")]), Some(0.0));
        assert_eq!(read.value("e_seconds", &[("x", "y"), ("quantile", "0.99")]), Some(f64::INFINITY));
        assert_eq!(read.value("e_seconds_count", &[("x", "y")]), Some(3.0));
    }

    #[test]
    fn the_reader_refuses_what_the_format_does_not_have() {
        for wrong in [
            "a 1\n# EOF\n",
            "# TYPE a gauge\na 1\n",
            "# TYPE a gauge\na 1\n# EOF\na 2\n",
            "# TYPE a counter\na 1\n# EOF\n",
            "# TYPE a counter\na_total -1\n# EOF\n",
            "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n",
            "# TYPE a gauge\na{x=\"1\" 1\n# EOF\n",
            "# TYPE a gauge\na{x=\"\\q\"} 1\n# EOF\n",
            "# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n# EOF\n",
            "# TYPE a gauge\na 1\na 1\n# EOF\n",
            "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na 2\n# EOF\n",
            "# TYPE a info\na_info 2\n# EOF\n",
            "# TYPE a stateset\na{a=\"on\"} 0.5\n# EOF\n",
            "# TYPE a summary\na{quantile=\"1.5\"} 1\n# EOF\n",
            "# TYPE a gauge\na one\n# EOF\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
