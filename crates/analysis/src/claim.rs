//! Claims: what would have to be seen for a published conclusion to hold.
//!
//! ```text
//! claim   = term op side | term ~ side within PERCENT% | outcome(CANDIDATE) = WORD | rank(CANDIDATE) <= N
//! op      = < | <= | > | >= | ~            (~: equivalent, within so many percent, or the smallest difference that matters)
//! side    = term | max(term, …) | min(term, …) | NUMBER * max(term, …) | NUMBER * min(term, …)
//! term    = NUMBER | figure | NUMBER * figure
//! figure  = NAME(CANDIDATE) | NAME(CANDIDATE @ CONNECTIONS)
//! ```

use prony_model::trial::Outcome;

use strum::VariantArray;

pub use crate::course::Course;
use crate::figure::Figure;

/// A claim's longest text: it is read by a human, too.
const LENGTH_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    Compared {
        left: FigureTerm,
        relation: Relation,
        right: Side,
        /// Of `~`, the share by which the left may differ; none: the smallest difference that matters.
        within: Option<f64>,
    },
    /// Every trial's outcome.
    Outcome { candidate: String, outcome: Outcome },
    /// A place in the ranking by throughput, or better.
    Rank {
        candidate: String,
        /// The worst place that the claim allows.
        at_most: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The left is less. `<=` reads the same: figures are continuous.
    Less,
    More,
    /// Both are one, within a difference that does not matter.
    Equivalent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Side {
    One(Term),
    Max(Vec<Term>),
    Min(Vec<Term>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    Number(f64),
    Figure(FigureTerm),
}

#[derive(Debug, Clone, PartialEq)]
pub struct FigureTerm {
    pub factor: f64,
    pub quantity: Quantity,
    pub candidate: String,
    /// In the plan with so many connections, not in the claim's own.
    pub connections: Option<u32>,
}

impl Term {
    fn times(self, by: f64) -> Term {
        match self {
            Term::Number(number) => Term::Number(number * by),
            Term::Figure(figure) => Term::Figure(FigureTerm { factor: figure.factor * by, ..figure }),
        }
    }
}

/// What a claim may speak about: a trial's figure or that of a part of it, or what a search over loads found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Trial(Figure),
    /// How a load went: its best part, its end.
    Course(Course),
    /// The highest sustainable rate, in requests per second.
    Capacity,
}

impl Quantity {
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Trial(figure) => figure.name,
            Quantity::Course(course) => course.into(),
            Quantity::Capacity => "capacity",
        }
    }

    fn named(name: &str) -> Option<Quantity> {
        Quantity::others()
            .find(|other| other.name() == name)
            .or_else(|| Figure::named(name).map(Quantity::Trial))
    }

    fn others() -> impl Iterator<Item = Quantity> {
        Course::VARIANTS.iter().map(|course| Quantity::Course(*course)).chain([Quantity::Capacity])
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{claim:?} is not a claim: {why}")]
pub struct ClaimError {
    claim: String,
    why: String,
}

impl Claim {
    pub fn parse(text: &str) -> Result<Claim, ClaimError> {
        let error = |why: String| ClaimError { claim: shortened(text), why };
        if text.len() > LENGTH_MAX {
            return Err(error(format!("it is longer than {LENGTH_MAX} characters.")));
        }
        let mut reader = Reader { rest: text };
        let claim = reader.claim().map_err(error)?;
        match reader.rest.trim() {
            "" => Ok(claim),
            more => Err(error(format!("nothing may follow, and {more:?} does."))),
        }
    }
}

/// The claim with its candidates called otherwise and every other word as it is: `rename` is given each label.
pub fn relabelled(claim: &str, rename: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(claim.len());
    let mut rest = claim;
    while let Some(open) = rest.find('(') {
        let (head, inside) = rest.split_at(open + 1);
        out.push_str(head);
        // What holds parentheses itself is a max or a min.
        let end = inside.find(['(', ')']).filter(|end| inside[*end..].starts_with(')')).unwrap_or(0);
        let (figure, after) = inside.split_at(end);
        let label = figure.split('@').next().unwrap_or_default().trim();
        if label.is_empty() || label.contains(',') {
            out.push_str(figure);
        } else {
            out.push_str(&figure.replacen(label, &rename(label), 1));
        }
        rest = after;
    }
    out + rest
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn claim(&mut self) -> Result<Claim, String> {
        let start = self.rest;
        match self.word() {
            Some("outcome") => {
                let candidate = self.only_candidate()?;
                self.expect("=")?;
                return Ok(Claim::Outcome { candidate, outcome: self.outcome()? });
            }
            Some("rank") => {
                let candidate = self.only_candidate()?;
                self.expect("<=")?;
                let places = self.number().filter(|n| *n >= 1.0 && n.fract() == 0.0 && *n <= 1e6);
                let at_most = places.ok_or("write rank(candidate) <= 3.")?;
                return Ok(Claim::Rank { candidate, at_most: at_most as u32 });
            }
            _ => self.rest = start,
        }
        let left = self.term()?;
        let relation = self.relation()?;
        let right = self.side()?;
        let Term::Figure(left) = left else {
            return Err("its left side must be a figure, throughput(candidate).".to_owned());
        };
        let within = self.within(relation)?;
        Ok(Claim::Compared { left, relation, right, within })
    }

    /// ` within 5%`, after an equivalence.
    fn within(&mut self, relation: Relation) -> Result<Option<f64>, String> {
        if relation != Relation::Equivalent || !self.take("within") {
            return Ok(None);
        }
        let percent = self.number().filter(|n| *n > 0.0 && *n < 100.0 && self.take("%"));
        percent.map(|n| Some(n / 100.0)).ok_or_else(|| "write within 5%, above 0 and below 100.".to_owned())
    }

    fn side(&mut self) -> Result<Side, String> {
        let start = self.rest;
        let by = self.number().filter(|_| self.take("*")).unwrap_or(1.0);
        let make: fn(Vec<Term>) -> Side = match self.word() {
            Some("max") => Side::Max,
            Some("min") => Side::Min,
            _ => {
                self.rest = start;
                return self.term().map(Side::One);
            }
        };
        self.expect("(")?;
        let mut terms = vec![self.term()?.times(by)];
        while self.take(",") {
            terms.push(self.term()?.times(by));
        }
        self.expect(")")?;
        Ok(make(terms))
    }

    fn term(&mut self) -> Result<Term, String> {
        let factor = match self.number() {
            None => 1.0,
            Some(number) if self.take("*") => number,
            Some(number) => return Ok(Term::Number(number)),
        };
        let known = || {
            let others = Quantity::others().map(Quantity::name);
            let names: Vec<&str> = Figure::all().map(|figure| figure.name).chain(others).collect();
            format!("known figures: {}, outcome, rank.", names.join(", "))
        };
        let name =
            self.word().ok_or_else(|| format!("a figure is missing before {:?}: {}", self.rest, known()))?;
        let quantity =
            Quantity::named(name).ok_or_else(|| format!("there is no figure {name:?}: {}", known()))?;
        let (candidate, connections) = self.candidate()?;
        Ok(Term::Figure(FigureTerm { factor, quantity, candidate, connections }))
    }

    /// `(CANDIDATE)` or `(CANDIDATE @ N)`.
    fn candidate(&mut self) -> Result<(String, Option<u32>), String> {
        self.expect("(")?;
        let end = self.rest.find(')').ok_or("a ) is missing.")?;
        let (inside, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        let (candidate, connections) = match inside.split_once('@') {
            None => (inside, None),
            Some((candidate, count)) => {
                let count = count.trim().parse().ok().filter(|n| *n > 0);
                let count =
                    count.ok_or_else(|| format!("{inside:?} must end in a number of connections."))?;
                (candidate, Some(count))
            }
        };
        let candidate = candidate.trim();
        let plain = |c: char| !c.is_whitespace() && !"(),".contains(c);
        if candidate.is_empty() || !candidate.chars().all(plain) {
            return Err(format!("{candidate:?} is not a candidate: write its label, amphp:jit."));
        }
        Ok((candidate.to_owned(), connections))
    }

    fn only_candidate(&mut self) -> Result<String, String> {
        match self.candidate()? {
            (candidate, None) => Ok(candidate),
            (candidate, Some(_)) => Err(format!("write {candidate} without @: \"at\" names the plan.")),
        }
    }

    fn relation(&mut self) -> Result<Relation, String> {
        for (sign, relation) in [
            ("<=", Relation::Less),
            (">=", Relation::More),
            ("<", Relation::Less),
            (">", Relation::More),
            ("~", Relation::Equivalent),
        ] {
            if self.take(sign) {
                return Ok(relation);
            }
        }
        Err(format!("one of <, >, ~ must stand before {:?}.", self.rest.trim()))
    }

    fn outcome(&mut self) -> Result<Outcome, String> {
        let word = self.word().unwrap_or_default();
        word.parse().map_err(|_| format!("{word:?} is not an outcome: write carried, overloaded or broken."))
    }

    /// Letters, digits and underscores; `None`, and nothing taken, where there are none.
    fn word(&mut self) -> Option<&'a str> {
        let trimmed = self.rest.trim_start();
        let end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(trimmed.len());
        let (word, rest) = trimmed.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Option<f64> {
        let trimmed = self.rest.trim_start();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let number = trimmed[..end].parse().ok().filter(|n: &f64| n.is_finite())?;
        self.rest = &trimmed[end..];
        Some(number)
    }

    fn take(&mut self, sign: &str) -> bool {
        match self.rest.trim_start().strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(format!("{sign:?} is missing before {:?}.", self.rest.trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, candidate: &str) -> FigureTerm {
        let quantity = Quantity::named(name).unwrap();
        FigureTerm { factor: 1.0, quantity, candidate: candidate.to_owned(), connections: None }
    }

    #[test]
    fn claims_are_read_as_written() {
        let claim = Claim::parse("throughput(a:x+y) < 0.95 * throughput(b)").unwrap();
        let Claim::Compared { left, relation, right, .. } = claim else { panic!("{claim:?}") };
        assert_eq!((left, relation), (figure("throughput", "a:x+y"), Relation::Less));
        assert!(matches!(right, Side::One(Term::Figure(b)) if b.factor == 0.95));
        let claim = Claim::parse("throughput(a @ 1000)<0.5*throughput( a@100 )").unwrap();
        let Claim::Compared { left, .. } = claim else { panic!("{claim:?}") };
        assert_eq!(left.connections, Some(1000));
        let claim = Claim::parse("p99(a) ~ 1.5 * max(p99(b), 2 * p99(c))").unwrap();
        let Claim::Compared { right: Side::Max(terms), .. } = claim else { panic!("{claim:?}") };
        let factors: Vec<f64> =
            terms.iter().map(|t| if let Term::Figure(figure) = t { figure.factor } else { 0.0 }).collect();
        assert_eq!(factors, [1.5, 3.0]);
        assert_eq!(
            Claim::parse("memory_growth(a) > 0").unwrap(),
            Claim::Compared {
                left: figure("memory_growth", "a"),
                relation: Relation::More,
                right: Side::One(Term::Number(0.0)),
                within: None,
            }
        );
        let claim = Claim::parse("end_throughput(a) < 0.8 * peak_throughput(a)").unwrap();
        let Claim::Compared { left, .. } = claim else { panic!("{claim:?}") };
        assert_eq!(left.quantity, Quantity::Course(Course::EndThroughput));
        let claim = Claim::parse("throughput(a) ~ 0.77 * throughput(b) within 5%").unwrap();
        assert!(matches!(claim, Claim::Compared { within: Some(0.05), .. }), "{claim:?}");
        assert_eq!(
            Claim::parse("outcome(a:ev) = broken").unwrap(),
            Claim::Outcome { candidate: "a:ev".to_owned(), outcome: Outcome::Broken }
        );
        assert_eq!(
            Claim::parse(" rank( a ) <= 2 ").unwrap(),
            Claim::Rank { candidate: "a".to_owned(), at_most: 2 }
        );
    }

    #[test]
    fn a_text_that_is_no_claim_is_refused_with_the_reason() {
        for (text, words) in [
            ("", "a figure is missing"),
            ("speed(a) > 1", "no figure \"speed\""),
            ("throughput(a) = 1", "one of <, >, ~"),
            ("throughput(a", "a ) is missing"),
            ("throughput() > 1", "is not a candidate"),
            ("throughput(a @ x) > 1", "number of connections"),
            ("throughput(a) > 1 or so", "nothing may follow"),
            ("5 > throughput(a)", "left side"),
            ("throughput(a) ~ throughput(b) within 0%", "write within 5%"),
            ("throughput(a) ~ throughput(b) within 5", "write within 5%"),
            ("throughput(a) < throughput(b) within 5%", "nothing may follow"),
            ("outcome(a) = fine", "not an outcome"),
            ("rank(a) <= 0", "rank(candidate) <= 3"),
            ("throughput(a) > max()", "a figure is missing"),
            ("throughput(a) > 1.2.3 * throughput(b)", "no figure \"1\""),
        ] {
            let said = Claim::parse(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text:?}: {said}");
        }
        assert!(Claim::parse(&"(".repeat(2_000)).unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn relabelling_changes_only_the_candidates_of_a_claim() {
        let louder = |label: &str| if label == "a:x" { "a".to_owned() } else { label.to_uppercase() };
        for (claim, renamed) in [
            ("throughput(a:x) > 1.2 * throughput( b )", "throughput(a) > 1.2 * throughput( B )"),
            ("p99(a:x @ 1000) ~ 0.5 * p99(a:x@100)", "p99(a @ 1000) ~ 0.5 * p99(a@100)"),
            ("p50(b) < 2 * max(p50(a:x), 3 * p50(c), 5)", "p50(B) < 2 * max(p50(a), 3 * p50(C), 5)"),
            ("rank(a:x) <= 2", "rank(a) <= 2"),
            ("outcome(a:x) = broken", "outcome(a) = broken"),
            ("p50(b) < max(1, 2)", "p50(B) < max(1, 2)"),
            ("a is best", "a is best"),
        ] {
            assert_eq!(relabelled(claim, louder), renamed);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = Claim::parse(&text);
            assert_eq!(relabelled(&text, str::to_owned), text);
        }
    }
}
