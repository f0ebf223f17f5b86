//! The shapes of requests that public boards of servers ask for: sums, counted items, files, rows of a table. Each
//! request is checked, and each answer is a function of its request alone, but for a row that was written: it is kept.

mod files;
mod rows;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use flate2::Compression;
use serde::{Deserialize, Serialize};

use crate::query::{number, parameter, text};
pub(crate) use rows::Written;
use rows::{CATEGORIES, ITEMS_MAX, Item};

/// The paths that requests are counted by, in the order of [`Ask::path`].
pub(crate) const PATHS: [&str; 8] = [
    "/baseline11",
    "/baseline2",
    "/pipeline",
    "/upload",
    "/async-db",
    "/crud/items",
    "/json/COUNT",
    "/static/NAME",
];

/// What is asked for, and what the request's headers say about the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) path: u8,
    pub(crate) heard: Heard,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Pipeline,
    Sum {
        sum: u32,
        /// The body is a part of it.
        is_posted: bool,
    },
    /// The body's length, once it has come.
    Upload(usize),
    Items {
        count: u8,
        factor: u32,
    },
    File(u8),
    Rows {
        min: u32,
        max: u32,
        limit: u8,
    },
    Page {
        category: u8,
        page: u32,
        limit: u8,
    },
    Row(u32),
    Create,
    Update(u32),
}

/// What headers say that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    takes_gzip: bool,
    is_json: bool,
}

impl Heard {
    pub(crate) fn hear(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"accept-encoding") {
            self.takes_gzip |= value.split(|byte| *byte == b',').any(is_gzip);
        } else if name.eq_ignore_ascii_case(b"content-type") {
            let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
            self.is_json = kind.trim_ascii().eq_ignore_ascii_case(b"application/json");
        }
    }
}

/// Whether an item of Accept-Encoding is `gzip`, and not by a weight of 0 (RFC 9110, 12.5.3).
fn is_gzip(item: &[u8]) -> bool {
    let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let is_zero =
        |part: &[u8]| part.strip_prefix(b"q=").is_some_and(|q| q.iter().all(|byte| b"0.".contains(byte)));
    parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"gzip")) && !parts.any(is_zero)
}

/// What is asked for, or what to send instead, and the methods that its path has; `None`: nothing is there.
pub(crate) fn ask(
    method: &str,
    path: &str,
    query: &str,
) -> Option<(Result<Ask, &'static str>, &'static str)> {
    const READ: &str = "GET, HEAD";
    let (path, shape, methods) = match path {
        "/baseline11" => (0, sum(query, method == "POST"), "GET, HEAD, POST"),
        "/baseline2" => (1, sum(query, false), READ),
        "/pipeline" => (2, Ok(Shape::Pipeline), READ),
        "/upload" => (3, Ok(Shape::Upload(0)), "POST"),
        "/async-db" => (4, rows_of(query), READ),
        "/crud/items" if method == "POST" => (5, Ok(Shape::Create), "GET, HEAD, POST"),
        "/crud/items" => (5, page(query), "GET, HEAD, POST"),
        _ => match path.rsplit_once('/')? {
            ("/crud/items", id) => {
                let id = u32::try_from(number(id.as_bytes())?).ok()?;
                let shape = if method == "PUT" { Shape::Update(id) } else { Shape::Row(id) };
                (5, Ok(shape), "GET, HEAD, PUT")
            }
            ("/json", count) => (6, items(count, query), READ),
            ("/static", name) => (7, Ok(Shape::File(files::number(name)?)), READ),
            _ => return None,
        },
    };
    Some((shape.map(|shape| Ask { path, heard: Heard::default(), shape }), methods))
}

/// A parameter from `least` to `most`.
fn within(query: &str, name: &str, least: u32, most: u32) -> Option<u32> {
    u32::try_from(parameter(query, name)?).ok().filter(|value| (least..=most).contains(value))
}

fn limit(query: &str) -> Option<u8> {
    within(query, "limit", 1, ITEMS_MAX.into()).map(|limit| limit as u8)
}

fn sum(query: &str, is_posted: bool) -> Result<Shape, &'static str> {
    let [a, b] = ["a", "b"].map(|name| within(query, name, 0, u32::MAX));
    let sum = a.zip(b).and_then(|(a, b)| a.checked_add(b));
    sum.map(|sum| Shape::Sum { sum, is_posted }).ok_or("ask with ?a=N&b=N, of which the sum is below 2^32")
}

fn items(count: &str, query: &str) -> Result<Shape, &'static str> {
    let count = number(count.as_bytes()).filter(|count| (1..=ITEMS_MAX.into()).contains(count));
    let asked = count.zip(within(query, "m", 1, 1_000_000));
    asked
        .map(|(count, factor)| Shape::Items { count: count as u8, factor })
        .ok_or("ask for /json/COUNT?m=N with COUNT from 1 to 50 and N from 1 to 1000000")
}

fn rows_of(query: &str) -> Result<Shape, &'static str> {
    let [min, max] = ["min", "max"].map(|name| within(query, name, 0, u32::MAX));
    let asked = min.zip(max).zip(limit(query)).filter(|((min, max), _)| min <= max);
    asked
        .map(|((min, max), limit)| Shape::Rows { min, max, limit })
        .ok_or("ask with ?min=N&max=N&limit=N, min up to max and limit from 1 to 50")
}

fn page(query: &str) -> Result<Shape, &'static str> {
    let category = CATEGORIES.iter().position(|one| text(query, "category") == Some(one));
    let asked = category.zip(within(query, "page", 1, u32::MAX)).zip(limit(query));
    asked.map(|((category, page), limit)| Shape::Page { category: category as u8, page, limit }).ok_or(
        "ask with ?category=NAME&page=N&limit=N: books, electronics, home, office or toys, limit from 1 to 50",
    )
}

/// The longest name and category of a row that is kept.
const NAME_BYTES_MAX: usize = 256;

/// The body of a write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    id: Option<u32>,
    name: String,
    category: Option<String>,
    price: u32,
    quantity: u32,
}

fn given(body: &[u8]) -> Option<Given> {
    let is_short = |text: &String| text.len() <= NAME_BYTES_MAX;
    serde_json::from_slice(body)
        .ok()
        .filter(|one: &Given| is_short(&one.name) && one.category.as_ref().is_none_or(is_short))
}

#[derive(Serialize)]
struct Counted {
    items: Vec<Item>,
    count: usize,
}

#[derive(Serialize)]
struct Paged {
    items: Vec<Item>,
    total: usize,
    page: u32,
    limit: u8,
}

/// What is answered.
pub(crate) struct Said {
    pub(crate) status: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) is_packed: bool,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Ask {
    pub(crate) fn is_upload(self) -> bool {
        matches!(self.shape, Shape::Upload(_))
    }

    /// Whether there is what it asks for: rows beyond the table are there once they are written.
    pub(crate) fn is_there(self, rows: &Written) -> bool {
        !matches!(self.shape, Shape::Row(id) | Shape::Update(id) if rows.row(id).is_none())
    }

    /// The same, with what its body, of which so much came, says; or what to send instead.
    pub(crate) fn checked(mut self, body: &[u8], came: usize) -> Result<Ask, &'static str> {
        match &mut self.shape {
            Shape::Upload(length) => *length = came,
            Shape::Sum { sum, is_posted: true } => {
                let more = number(body.trim_ascii()).and_then(|more| u32::try_from(more).ok());
                *sum = more
                    .and_then(|more| sum.checked_add(more))
                    .ok_or("send a number as the body, with which the sum is below 2^32")?;
            }
            Shape::Create | Shape::Update(_) if !self.heard.is_json => {
                return Err("send Content-Type: application/json");
            }
            Shape::Create if given(body).is_none_or(|one| one.id.is_none() || one.category.is_none()) => {
                return Err(
                    r#"send {"id":N,"name":"…","category":"…","price":N,"quantity":N}, with names of up to 256 bytes"#,
                );
            }
            Shape::Update(_) if given(body).is_none() => {
                return Err(r#"send {"name":"…","price":N,"quantity":N}, with a name of up to 256 bytes"#);
            }
            _ => {}
        }
        Ok(self)
    }

    /// The answer, of a request that was checked.
    pub(crate) fn answer(self, body: &[u8], rows: &Written) -> Said {
        match self.shape {
            Shape::Pipeline => plain(b"ok"[..].into()),
            Shape::Sum { sum, .. } => plain(sum.to_string().into_bytes().into()),
            Shape::Upload(length) => plain(length.to_string().into_bytes().into()),
            Shape::File(number) => {
                let (kind, file) = files::file(number);
                let packed = file.packed.as_deref().filter(|_| self.heard.takes_gzip);
                let body = Cow::Borrowed(packed.unwrap_or(&file.plain));
                Said { status: "200 OK", kind, is_packed: packed.is_some(), body }
            }
            Shape::Items { count, factor } => {
                let items: Vec<Item> = (1..=count).map(|id| Item::of(id.into()).times(factor)).collect();
                self.json(&Counted { count: items.len(), items })
            }
            Shape::Rows { min, max, limit } => {
                let items = rows::by_price(min, max, limit);
                self.json(&Counted { count: items.len(), items })
            }
            Shape::Page { category, page, limit } => {
                let items = rows::page(category, page, limit);
                self.json(&Paged { total: items.len(), items, page, limit })
            }
            Shape::Row(id) => self.json(&rows.row(id).unwrap_or_else(|| Item::of(id))),
            Shape::Create => Said { status: "201 Created", ..self.json(&written(None, body, rows)) },
            Shape::Update(id) => self.json(&written(Some(id), body, rows)),
        }
    }

    fn json(self, value: &impl Serialize) -> Said {
        // Strings and numbers: it cannot fail.
        let json = serde_json::to_vec(value).unwrap_or_default();
        let is_packed = self.heard.takes_gzip;
        let body = if is_packed { files::gzip(&json, Compression::fast()) } else { json };
        Said { status: "200 OK", kind: "application/json", is_packed, body: body.into() }
    }
}

fn plain(body: Cow<'static, [u8]>) -> Said {
    Said { status: "200 OK", kind: "text/plain", is_packed: false, body }
}

/// The row that a write, which was checked, leaves: its number is the path's, or the body's.
fn written(id: Option<u32>, body: &[u8], rows: &Written) -> Item {
    let given = given(body);
    let number = id.or_else(|| given.as_ref()?.id).unwrap_or_default();
    let mut row = id.and_then(|id| rows.row(id)).unwrap_or_else(|| Item::of(number));
    if let Some(Given { name, category, price, quantity, .. }) = given {
        (row.name, row.price, row.quantity) = (name.into(), price, quantity);
        row.category = category.map_or(row.category, Cow::Owned);
    }
    rows.keep(row.clone());
    row
}
