//! How people write durations and rates, `1m30s`, `5k`: the same in experiment files and on the command line.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use crate::error::PlanError;
use crate::plan::{Arrivals, DURATION_MAX};
pub use crate::printable::show_duration;
use crate::rate::{Rate, Stage};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

/// The units of a duration, in nanoseconds.
const DURATION_UNITS: [(&str, f64); 6] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12)];

/// Reads `3s`, `500ms`, `1m30s`, `1.5h`; a bare number is seconds. Zero is a duration; a day is the longest.
pub fn parse_duration(text: &str) -> Result<Duration, PlanError> {
    let wrong = || PlanError(format!("{text:?} is not a duration: write 30s, 500ms or 1m30s."));
    let compact = text.trim().replace('µ', "u").to_ascii_lowercase();
    if compact.is_empty() {
        return Err(wrong());
    }
    if let Ok(seconds) = compact.parse::<f64>() {
        return from_nanoseconds(seconds * 1e9, text);
    }
    let (mut rest, mut total_ns) = (compact.as_str(), 0.0);
    let mut smaller_than = f64::INFINITY; // units go down, each once: 1m30s, not 30s1m
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let (_, unit_ns) = DURATION_UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        if unit_ns >= smaller_than {
            return Err(wrong());
        }
        smaller_than = unit_ns;
        total_ns += number * unit_ns;
        rest = tail;
    }
    from_nanoseconds(total_ns, text)
}

/// A duration in whole nanoseconds; a day is 8.64e13, so `u64` holds any plan's.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn from_nanoseconds(ns: f64, text: &str) -> Result<Duration, PlanError> {
    if ns.is_nan() || ns < 0.0 {
        return Err(PlanError(format!("{text:?} is not a duration: it must be 0 or more.")));
    }
    if ns > DURATION_MAX.as_secs_f64() * 1e9 {
        return Err(PlanError(format!("{text:?} is longer than a day: write at most 24h.")));
    }
    Ok(Duration::from_nanos(ns.round() as u64))
}

/// A number of digits and at most one point: no sign, no exponent, no space.
pub fn plain_number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| plain)
}

/// A number without the `k` or `M` behind it, and what that multiplies it by.
pub fn multiple(text: &str) -> (&str, u32) {
    match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    }
}

/// Reads a rate: `5k`, `20k/s`, `1.5M`, `2.5/s`, `300`; requests per second.
pub fn parse_rate(text: &str) -> Result<Rate, PlanError> {
    let compact = text.trim();
    if compact.ends_with('%') {
        return Err(PlanError(format!(
            "{text:?} is a percentage, which only a plan with `of` takes: write requests per second, 5k."
        )));
    }
    let number = compact.strip_suffix("/s").unwrap_or(compact).trim_end();
    let (number, factor) = multiple(number);
    match plain_number(number) {
        Some(value) => rate_per_s(value * f64::from(factor), text),
        _ if number.starts_with('-') => rate_per_s(-1.0, text),
        _ => Err(PlanError(format!("{text:?} is not a rate: write requests per second, 500, 5k or 2.5/s."))),
    }
}

fn rate_per_s(per_s: f64, text: &str) -> Result<Rate, PlanError> {
    Rate::per_s(per_s).ok_or_else(|| {
        PlanError(format!(
            "The rate {text:?} is out of range: write more than 0 and at most {:.0} requests per second.",
            Rate::MAX_PER_S
        ))
    })
}

/// Reads stages: each `30s:20k/s` (to a rate) or `60s:5000c` (to a number of connections), all of one kind.
pub(crate) fn parse_stages<T: AsRef<str>>(texts: &[T]) -> Result<Arrivals, PlanError> {
    let stages = texts.iter().map(|text| stage(text.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let of_connections = stages.iter().filter(|(_, of_connections)| *of_connections).count();
    let all = || stages.iter().map(|(stage, _)| *stage).collect();
    match of_connections {
        0 => Ok(Arrivals::RateStages(all())),
        n if n < stages.len() => Err(PlanError(
            "Some stages are of a rate and some of connections: one load follows one of them.".to_owned(),
        )),
        _ => Ok(Arrivals::ConnectionStages(all())),
    }
}

fn stage(text: &str) -> Result<(Stage, bool), PlanError> {
    let wrong = |why: &str| {
        PlanError(format!(
            "The stage {text:?}: {why}: write 30s:20k/s for a rate, 60s:5000c for connections."
        ))
    };
    let (time, level) = text.split_once(':').ok_or_else(|| wrong("it has no colon"))?;
    let duration = parse_duration(time)?;
    if let Some(connections) = level.strip_suffix('c') {
        let is_count = !connections.is_empty() && connections.bytes().all(|b| b.is_ascii_digit());
        let count = connections.parse::<u32>().ok().filter(|_| is_count);
        let count = count.ok_or_else(|| wrong("its number of connections is not a whole number"))?;
        return Ok((Stage { duration, to: u64::from(count) }, true));
    }
    let Some(rate) = level.strip_suffix("/s") else { return Err(wrong("its level has no unit")) };
    // A rate may come down to nothing, which no whole load may have.
    let is_zero = !rate.is_empty() && rate.bytes().all(|b| b == b'0');
    let to = if is_zero { 0 } else { parse_rate(level)?.as_micro_per_s() };
    Ok((Stage { duration, to }, false))
}

/// The most connections that stages of connections ask for; 0 of other arrivals.
pub fn most_connections(arrivals: &Arrivals) -> u32 {
    let Arrivals::ConnectionStages(stages) = arrivals else { return 0 };
    let most = stages.iter().map(|stage| stage.to).max().unwrap_or(0);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// A share, as people write it: `50%`, `105%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(f64);

impl Share {
    /// The largest share that makes sense of a capacity.
    const MAX: f64 = 10.0;

    /// Reads a share of something: `95%`.
    pub fn parse(text: &str) -> Result<Share, PlanError> {
        let number = text.trim().strip_suffix('%').map(str::trim_end);
        let share = number.and_then(plain_number).map(|n| n / 100.0);
        share.filter(|share| *share > 0.0 && *share <= Share::MAX).map(Share).ok_or_else(|| {
            PlanError(format!(
                "{text:?} is not a share: write 50%, above 0 and at most {:.0}%.",
                Share::MAX * 100.0
            ))
        })
    }

    /// 0.5 for `50%`.
    pub fn as_ratio(self) -> f64 {
        self.0
    }
}

/// Reads the precision of a run, `2%`: from 0.1 % to 50 %.
pub fn parse_precision(text: &str) -> Result<f64, PlanError> {
    let share = Share::parse(text).ok().map(Share::as_ratio).filter(|share| (0.001..=0.5).contains(share));
    share.ok_or_else(|| PlanError(format!("{text:?} is not a precision: write 2%, from 0.1% to 50%.")))
}

/// A duration in a TOML file: a text or a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationValue(pub Duration);

/// How long a window is: a duration, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowValue {
    /// As long as a pilot shows to be enough.
    Auto,
    #[serde(untagged)]
    Time(DurationValue),
}

/// A rate in a TOML file: a text, a number of requests per second, or a share of a capacity, `"95%"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateValue {
    PerS(Rate),
    /// A share of what a plan of the experiment finds.
    Share(Share),
}

struct TextOrNumber<T> {
    expecting: &'static str,
    text: fn(&str) -> Result<T, PlanError>,
    number: fn(f64) -> Result<T, PlanError>,
}

impl<T> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.number)(number as f64).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        (self.number)(number as f64).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.number)(number).map_err(E::custom)
    }
}

impl FromStr for DurationValue {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<DurationValue, PlanError> {
        parse_duration(text).map(DurationValue)
    }
}

impl FromStr for WindowValue {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<WindowValue, PlanError> {
        if text == "auto" { Ok(WindowValue::Auto) } else { text.parse().map(WindowValue::Time) }
    }
}

impl<'de> Deserialize<'de> for WindowValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WindowValue, D::Error> {
        deserializer.deserialize_any(TextOrNumber {
            expecting: "a duration such as \"30s\", or \"auto\"",
            text: str::parse,
            number: |seconds| {
                from_nanoseconds(seconds * 1e9, &seconds.to_string())
                    .map(DurationValue)
                    .map(WindowValue::Time)
            },
        })
    }
}

impl Serialize for DurationValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&show_duration(self.0))
    }
}

impl<'de> Deserialize<'de> for DurationValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DurationValue, D::Error> {
        let visitor = TextOrNumber {
            expecting: "a duration such as \"30s\"",
            text: parse_duration,
            number: |seconds| from_nanoseconds(seconds * 1e9, &seconds.to_string()),
        };
        deserializer.deserialize_any(visitor).map(DurationValue)
    }
}

impl<'de> Deserialize<'de> for RateValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateValue, D::Error> {
        let visitor = TextOrNumber {
            expecting: "a rate such as \"5k\", or a share of a capacity such as \"95%\"",
            text: |text| match text.trim_end().ends_with('%') {
                true => Share::parse(text).map(RateValue::Share),
                false => parse_rate(text).map(RateValue::PerS),
            },
            number: |per_s| rate_per_s(per_s, &per_s.to_string()).map(RateValue::PerS),
        };
        deserializer.deserialize_any(visitor)
    }
}

impl FromStr for RateValue {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<RateValue, PlanError> {
        parse_rate(text).map(RateValue::PerS)
    }
}

impl Serialize for RateValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            RateValue::PerS(rate) => to.serialize_f64(rate.as_per_s()),
            RateValue::Share(share) => to.serialize_str(&format!("{}%", share.as_ratio() * 100.0)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: Copy> OneOrMany<T> {
    /// The values, and whether they were a list (and so become part of the plan's name).
    pub fn values(&self) -> (Vec<T>, bool) {
        match self {
            OneOrMany::One(value) => (vec![*value], false),
            OneOrMany::Many(values) => (values.clone(), true),
        }
    }
}

impl<T: FromStr> FromStr for OneOrMany<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<OneOrMany<T>, T::Err> {
        text.parse().map(OneOrMany::One)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany<T>, D::Error> {
        // Not `#[serde(untagged)]`: that forgets why each alternative was refused.
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
    }
}

/// A whole number, `500`, `10k` or `2M`, as wrk reads them.
pub fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let (number, factor) = multiple(text);
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err("write a whole number, 500, 10k or 2M".to_owned());
    }
    let value = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor.into()));
    value.and_then(|n| N::try_from(n).ok()).ok_or_else(|| "it is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, ms) in
            [("3s", 3000), ("500ms", 500), ("1m30s", 90_000), ("2", 2000), ("0.5", 500), ("1.5h", 5_400_000)]
        {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        assert_eq!(parse_duration("250us").unwrap(), Duration::from_micros(250));
        assert_eq!(parse_duration("250µs").unwrap(), Duration::from_micros(250));
        for text in ["1m30s", "500ms", "0s", "2h", "1h2m3s", "250us", "7ns", "1m0.5s", "90ms"] {
            assert_eq!(show_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn wrong_durations_are_refused_in_a_sentence() {
        for text in ["", "s", "3x", "3 s 4", "-1", "-1s", "1.2.3s", "NaN", "inf", "30s1m", "1s1s", "3seconds"]
        {
            let said = parse_duration(text).unwrap_err().0;
            assert!(said.contains("not a duration") || said.contains("longer"), "{text}: {said}");
        }
        assert!(parse_duration("25h").unwrap_err().0.contains("a day"));
        assert!(parse_duration("1e300").unwrap_err().0.contains("a day"));
    }

    #[test]
    fn rates_are_read() {
        for (text, per_s) in [
            ("5k", 5e3),
            ("20k/s", 2e4),
            ("1.5M", 1.5e6),
            ("2.5/s", 2.5),
            ("300", 300.0),
            ("5K", 5e3),
            ("1 /s", 1.0),
        ] {
            assert_eq!(parse_rate(text), Ok(Rate::per_s(per_s).unwrap()), "{text}");
        }
    }

    #[test]
    fn wrong_rates_are_refused_in_a_sentence() {
        for text in ["", "k", "fast", "5m", "1e3", "5kk", "inf", "NaN", "k5"] {
            assert!(parse_rate(text).unwrap_err().0.contains("not a rate"), "{text}");
        }
        for text in ["0", "-5", "200M"] {
            assert!(parse_rate(text).unwrap_err().0.contains("is out of range"), "{text}");
        }
        assert!(parse_rate("80%").unwrap_err().0.contains("is a percentage"));
    }

    #[test]
    fn counts_have_units_and_bounds() {
        assert_eq!((count::<u32>("10k"), count::<u64>("2M")), (Ok(10_000), Ok(2_000_000)));
        for wrong in ["", "k", "-1", "1.5k", "0x10", "+5", "5000M"] {
            assert!(count::<u32>(wrong).is_err(), "{wrong}");
        }
    }
}
