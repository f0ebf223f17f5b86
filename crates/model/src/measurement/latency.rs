//! The window's durations.

use serde::{Deserialize, Serialize};

use crate::histogram::SparseHistogram;

/// The window's durations by part of a request's time. What is one value in three parts is stored once: see
/// [`Latency::parts`] for each part whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Completed requests that were sent at their intended instant and whose response came in one piece: response,
    /// service and first byte are this one duration, and every other part is 0. In a closed loop nearly all are such.
    pub plain: SparseHistogram,
    pub rest: Parts,
    /// Of these, first bytes that were read together with more than their head, and so have
    /// the stamp of something later.
    pub first_bytes_upper: u64,
    /// Last byte in the kernel to its reading by Prony, of all completed requests; empty where
    /// [`Measurement::clock`](super::Measurement::clock) is the user's.
    #[serde(default, skip_serializing_if = "SparseHistogram::is_empty")]
    pub client_delay: SparseHistogram,
}

impl Latency {
    pub fn parts(&self) -> Parts {
        let Latency { plain, rest, .. } = self;
        let zeros = plain.len();
        let mut parts = Parts {
            connect_wait: rest.connect_wait.with_zeros(zeros),
            send_lag: rest.send_lag.with_zeros(zeros),
            connection_wait: rest.connection_wait.with_zeros(zeros),
            lateness: rest.lateness.with_zeros(zeros),
            ..rest.clone()
        };
        for part in [&mut parts.response.completed, &mut parts.service.completed, &mut parts.first_byte] {
            part.add(plain);
        }
        parts
    }

    pub fn add(&mut self, other: &Latency) {
        let (to, from) = (&mut self.rest, &other.rest);
        to.response.add(&from.response);
        to.service.add(&from.service);
        for (to, from) in [
            (&mut self.plain, &other.plain),
            (&mut to.first_byte, &from.first_byte),
            (&mut to.connect_wait, &from.connect_wait),
            (&mut to.send_lag, &from.send_lag),
            (&mut to.connection_wait, &from.connection_wait),
            (&mut to.lateness, &from.lateness),
            (&mut self.client_delay, &other.client_delay),
        ] {
            to.add(from);
        }
        self.first_bytes_upper += other.first_bytes_upper;
    }
}

/// The parts of requests' times. For each completed request
/// `response = send_lag + connect_wait + service`, exactly.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parts {
    /// Intended instant to last byte.
    #[serde(skip_serializing_if = "Censored::is_empty")]
    pub response: Censored,
    /// Sent to last byte.
    #[serde(skip_serializing_if = "Censored::is_empty")]
    pub service: Censored,
    /// Sent to first byte.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub first_byte: SparseHistogram,
    /// Connect (and TLS) that the request had to wait for, else 0.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub connect_wait: SparseHistogram,
    /// Intended instant to the moment a connection was asked for or the request sent.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub send_lag: SparseHistogram,
    /// The part of the send lag during which no connection was free.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub connection_wait: SparseHistogram,
    /// The rest of the send lag: the client's own lateness.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub lateness: SparseHistogram,
}

/// Durations of which some are only known to be "at least this long".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Censored {
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub completed: SparseHistogram,
    /// Requests that failed: how long they had taken when they did.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub failed: SparseHistogram,
    /// Requests unresolved when the window closed: their wait so far.
    #[serde(skip_serializing_if = "SparseHistogram::is_empty")]
    pub waiting: SparseHistogram,
}

impl Censored {
    fn is_empty(&self) -> bool {
        [&self.completed, &self.failed, &self.waiting].into_iter().all(SparseHistogram::is_empty)
    }

    pub fn add(&mut self, other: &Censored) {
        self.completed.add(&other.completed);
        self.failed.add(&other.failed);
        self.waiting.add(&other.waiting);
    }
}
