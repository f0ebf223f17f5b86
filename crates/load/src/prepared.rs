//! The requests of a list as bytes, ready before the clock starts.

use crate::request;
use crate::turns::line_of;
use prony_model::list::Order;
use prony_model::{Plan, PlanError};

/// The most that all requests of a list may take together, each with its headers and body: with the
/// largest list that is half a kilobyte each.
const BYTES_MAX: usize = 512 << 20;

/// A list's requests, read-only.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// All of them, one after the other.
    bytes: Vec<u8>,
    /// Where each begins and ends in it; one more than there are requests.
    bounds: Vec<usize>,
    /// Whether each one's method is HEAD.
    is_head: Vec<bool>,
    /// The request of each line.
    lines: Vec<u32>,
    order: Order,
    seed: u64,
}

impl Prepared {
    /// The plan's; `None` where it has no list.
    ///
    /// # Errors
    /// When one could not be a request, or all take too much memory.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Prepared>, PlanError> {
        let Some(list) = plan.work.list() else { return Ok(None) };
        let too_large = || {
            PlanError(format!(
                "The list's {} requests take over {} MiB with their headers and body: give a shorter list or body.",
                list.requests.len(),
                BYTES_MAX >> 20
            ))
        };
        if list.requests.len().saturating_mul(plan.body.len()) > BYTES_MAX {
            return Err(too_large());
        }
        let (mut bytes, mut bounds) = (Vec::new(), vec![0]);
        for one in &list.requests {
            bytes.extend(request::build_one(plan, &one.method, &one.path, one.userinfo.as_ref())?);
            if bytes.len() > BYTES_MAX {
                return Err(too_large());
            }
            bounds.push(bytes.len());
        }
        bytes.shrink_to_fit();
        Ok(Some(Prepared {
            bytes,
            bounds,
            is_head: list.requests.iter().map(|one| one.method == "HEAD").collect(),
            lines: list.lines.clone(),
            order: list.order,
            seed: plan.seed,
        }))
    }

    /// Lines of the list.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// How many requests there are.
    pub(crate) fn count(&self) -> usize {
        self.is_head.len()
    }

    /// The request that the load's request of this number is.
    pub(crate) fn of_number(&self, number: u64) -> u32 {
        self.lines[line_of(self.order, self.seed, self.lines(), number) as usize]
    }

    /// A request's bytes.
    pub(crate) fn bytes(&self, request: u32) -> &[u8] {
        let at = request as usize;
        &self.bytes[self.bounds[at]..self.bounds[at + 1]]
    }

    /// Whether its answers have no body.
    pub(crate) fn is_head(&self, request: u32) -> bool {
        self.is_head[request as usize]
    }
}
