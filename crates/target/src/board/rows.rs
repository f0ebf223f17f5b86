//! The table that requests ask for: its rows are a function of their numbers, so that nothing is stored
//! but what was written.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// The most written rows that are kept; of more, the last.
pub(crate) const KEPT_MAX: usize = 4096;
/// Rows, numbered from 1.
const ROWS: u32 = 100_000;
/// The most items of an answer.
pub(super) const ITEMS_MAX: u8 = 50;
pub(super) const CATEGORIES: [&str; 5] = ["books", "electronics", "home", "office", "toys"];
const TAGS: [&str; 4] = ["blue", "light", "new", "small"];
/// Prices are from [`PRICE_MIN`] on, each of so many once in as many rows: the factor shares no divisor with it.
const PRICES: u32 = 490;
const PRICE_MIN: u32 = 10;
const PRICE_FACTOR: u32 = 37;

/// Rows that were written, which all event loops have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    rows: HashMap<u32, Item>,
    /// Their numbers, the first written first.
    order: VecDeque<u32>,
}

impl Written {
    fn open(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A row as it was last written, or as the table has it.
    pub(super) fn row(&self, id: u32) -> Option<Item> {
        let kept = self.open().rows.get(&id).cloned();
        kept.or_else(|| (1..=ROWS).contains(&id).then(|| Item::of(id)))
    }

    pub(super) fn keep(&self, row: Item) {
        let mut kept = self.open();
        let id = row.id;
        if kept.rows.insert(id, row).is_none() {
            kept.order.push_back(id);
        }
        if kept.order.len() > KEPT_MAX
            && let Some(first) = kept.order.pop_front()
        {
            kept.rows.remove(&first);
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    pub(super) id: u32,
    pub(super) name: Cow<'static, str>,
    pub(super) category: Cow<'static, str>,
    pub(super) price: u32,
    pub(super) quantity: u32,
    active: bool,
    tags: [&'static str; 2],
    rating: Rating,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Rating {
    score: u32,
    count: u32,
}

impl Item {
    pub(super) fn of(id: u32) -> Item {
        let at = id as usize;
        Item {
            id,
            name: format!("Item {id}").into(),
            category: CATEGORIES[at % CATEGORIES.len()].into(),
            price: price(id),
            quantity: 1 + id % 50,
            active: !id.is_multiple_of(3),
            tags: [TAGS[at % TAGS.len()], TAGS[(at + 1) % TAGS.len()]],
            rating: Rating { score: 1 + id % 48, count: id % 311 },
            total: None,
        }
    }

    /// With its total: price, quantity and this factor multiplied.
    pub(super) fn times(self, factor: u32) -> Item {
        let total = u64::from(self.price) * u64::from(self.quantity) * u64::from(factor);
        Item { total: Some(total), ..self }
    }
}

fn price(id: u32) -> u32 {
    PRICE_MIN + id % PRICES * PRICE_FACTOR % PRICES
}

/// The first rows of these prices; without an index, as every row is looked at until there are enough.
pub(super) fn by_price(min: u32, max: u32, limit: u8) -> Vec<Item> {
    let ids = (1..=ROWS).filter(|id| (min..=max).contains(&price(*id)));
    ids.take(limit.into()).map(Item::of).collect()
}

/// A page of a category's rows, from page 1 on.
pub(super) fn page(category: u8, page: u32, limit: u8) -> Vec<Item> {
    let step = CATEGORIES.len() as u64;
    let first = if category == 0 { step } else { category.into() };
    let skipped = u64::from(page - 1) * u64::from(limit);
    let ids = (skipped..skipped + u64::from(limit)).map(|at| first + at * step);
    ids.filter_map(|id| u32::try_from(id).ok().filter(|id| *id <= ROWS)).map(Item::of).collect()
}
