//! What simulated HTTP/2 servers do, and what they do wrong.

use super::super::any_order::Conditions;
use super::super::chance::Chance;

const MS: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(super) struct Habits {
    pub(super) seed: u64,
    /// How long after the connect the settings come, at most.
    pub(super) settings_ns: u64,
    /// How many streams a connection may have at once, to begin with; `None`: nothing is said of it.
    pub(super) streams: Option<u32>,
    /// A stream's first window for what a client sends; `None`: the standard's.
    pub(super) window: Option<u32>,
    /// The client's table of header fields, in bytes; `None`: the standard's.
    pub(super) table_bytes: Option<u32>,
    /// How often a request is followed by other settings, or by a PING.
    pub(super) resettles_per_mille: u32,
    pub(super) pings_per_mille: u32,
    /// The durations of answers, each by chance.
    pub(super) service_ns: (u64, u64),
    /// The k-th request's duration instead, from 0, of as many as there are; the others have the last one's.
    pub(super) durations_ns: Vec<u64>,
    /// The most DATA frames of an answer, and the bytes of each.
    pub(super) pieces: usize,
    pub(super) piece_bytes: usize,
    /// How often an answer has more than it needs: interim heads, padding, empty frames, trailers, a head in many frames.
    pub(super) frills_per_mille: u32,
    pub(super) early_per_mille: u32,
    pub(super) lengths_per_mille: u32,
    pub(super) missing_per_mille: u32,
    /// How often a stream is refused, reset, answered wrongly, never answered.
    pub(super) refuses_per_mille: u32,
    pub(super) resets_per_mille: u32,
    pub(super) malformed_per_mille: u32,
    pub(super) silent_per_mille: u32,
    /// How often a connection is closed, or broken by a frame that may not be, instead of an answer.
    pub(super) closes_per_mille: u32,
    pub(super) breaks_per_mille: u32,
    /// After which request of a connection it is ended by GOAWAY, which spares the last of them by chance.
    pub(super) goaway_after: Option<u64>,
    pub(super) conditions: Conditions,
}

impl Habits {
    /// Every answer takes so long, and no call takes time.
    pub(super) fn ideal(service_ns: u64) -> Habits {
        Habits {
            seed: 0,
            settings_ns: 0,
            streams: None,
            window: None,
            table_bytes: None,
            resettles_per_mille: 0,
            pings_per_mille: 0,
            service_ns: (service_ns, service_ns),
            durations_ns: Vec::new(),
            pieces: 1,
            piece_bytes: 13,
            frills_per_mille: 0,
            early_per_mille: 0,
            lengths_per_mille: 500,
            missing_per_mille: 0,
            refuses_per_mille: 0,
            resets_per_mille: 0,
            malformed_per_mille: 0,
            silent_per_mille: 0,
            closes_per_mille: 0,
            breaks_per_mille: 0,
            goaway_after: None,
            conditions: Conditions::default(),
        }
    }

    /// By chance; `ends` says whether connections end by GOAWAY, and then they end in no other way.
    pub(super) fn random(seed: u64, chance: &mut Chance, ends: bool) -> Habits {
        let service_ns = chance.scale(2_000, 5 * MS);
        let mut habits = Habits { seed, ..Habits::ideal(service_ns) };
        habits.service_ns.1 = service_ns * chance.between(1, 20);
        habits.settings_ns = chance.pick(&[(0, 2), (MS, 1)]);
        let few = chance.between(1, 10) as u32;
        habits.streams = chance.pick(&[(None, 1), (Some(100), 1), (Some(few), 2)]);
        habits.window = chance.pick(&[(None, 2), (Some(0), 1), (Some(10), 1), (Some(300), 1)]);
        habits.table_bytes = chance.pick(&[(None, 2), (Some(0), 1), (Some(100), 1), (Some(65_536), 1)]);
        habits.resettles_per_mille = chance.pick(&[(0, 1), (20, 1), (300, 1)]);
        habits.pings_per_mille = chance.pick(&[(0, 1), (100, 1)]);
        (habits.pieces, habits.piece_bytes) =
            chance.pick(&[((0, 0), 1), ((1, 13), 2), ((4, 50), 1), ((3, 9_000), 1)]);
        habits.frills_per_mille = chance.pick(&[(0, 1), (300, 1)]);
        habits.early_per_mille = chance.pick(&[(0, 1), (200, 1)]);
        habits.missing_per_mille = chance.pick(&[(0, 1), (50, 1)]);
        habits.refuses_per_mille = chance.pick(&[(0, 1), (50, 1)]);
        habits.resets_per_mille = chance.pick(&[(0, 1), (50, 1)]);
        habits.malformed_per_mille = chance.pick(&[(0, 2), (30, 1)]);
        habits.silent_per_mille = chance.pick(&[(0, 2), (30, 1)]);
        habits.conditions.parts_per_mille = chance.pick(&[(0, 1), (200, 1)]);
        habits.conditions.connect_ns = chance.pick(&[(0, 1), (MS, 1)]);
        if ends {
            habits.goaway_after = Some(chance.between(1, 40));
        } else {
            habits.closes_per_mille = chance.pick(&[(0, 2), (10, 1)]);
            habits.breaks_per_mille = chance.pick(&[(0, 2), (10, 1)]);
            habits.conditions.refused_per_mille = chance.pick(&[(0, 2), (100, 1)]);
            habits.conditions.call_ns = chance.pick(&[(0, 1), (500, 1)]);
        }
        habits
    }
}
