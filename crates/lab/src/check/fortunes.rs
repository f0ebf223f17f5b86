//! Whether a page is that of `GET /fortunes`: all rows and the added one, sorted, each escaped.

use super::client::printable;

/// The rows of the table `fortune` in `service/contract.sql`.
pub(crate) const ROWS: [(&str, &str); 12] = [
    ("1", "A queue that only grows is an outage with a date."),
    ("2", "The fastest query is the one that nobody sends."),
    ("3", "Measure before you cut; then measure again."),
    ("4", "an index on every column is an index on none"),
    ("5", "Caches are right until something changes."),
    ("6", "Retries without a limit are a second load."),
    ("7", "Time-outs add up: \"30 s\" & \"30 s\" make a minute, don't they?"),
    ("8", "No error in the log may mean no log."),
    ("9", "Žluťoučký kůň, ½ ß, 日本語: not all text is ASCII."),
    ("10", "Every percentile hides the rest."),
    ("11", "<script>alert(\"This row is text, not a program.\");</script>"),
    ("12", "One core is enough, until there are two users."),
];
/// The row that a server adds to those of the database before it sorts them, so that each page is made anew.
const ADDED: (&str, &str) = ("0", "Added when the page was asked for.");

/// All rows as the page has them: by code points, which is the order of UTF-8's bytes.
fn sorted() -> Vec<(&'static str, &'static str)> {
    let mut rows: Vec<_> = ROWS.into_iter().chain([ADDED]).collect();
    rows.sort_by_key(|(_, message)| *message);
    rows
}

pub(super) fn judge(body: &[u8]) -> Result<(), String> {
    let page = std::str::from_utf8(body).map_err(|_| "The page is not UTF-8.".to_owned())?;
    let found = rows(page)?;
    let expected = sorted();
    let has = |id: &str| found.iter().any(|(of, _)| of == id);
    if !has(ADDED.0) {
        let (id, message) = ADDED;
        return Err(format!("The row that the server adds is missing: {id}, {message:?}."));
    }
    if let Some((id, message)) = ROWS.iter().find(|(id, _)| !has(id)) {
        return Err(format!("The row {id} of the database is missing: {message:?}."));
    }
    if found.len() != expected.len() {
        return Err(format!("The page has {} rows, expected {}.", found.len(), expected.len()));
    }
    for (id, message) in &found {
        let right = expected.iter().find(|(of, _)| of == id).map_or("none", |(_, message)| message);
        if message != right {
            return Err(format!("The message of row {id} is {}, expected {}.", shown(message), shown(right)));
        }
    }
    let out_of_order = found.windows(2).find(|pair| pair[0].1 > pair[1].1);
    out_of_order.map_or(Ok(()), |pair| {
        Err(format!(
            "The rows are not sorted by message, code point by code point: {} comes before {}.",
            pair[0].0, pair[1].0
        ))
    })
}

fn shown(message: &str) -> String {
    format!("{:?}", printable(message.as_bytes(), 80))
}

/// Id and message of each `<tr><td>ID</td><td>MESSAGE</td></tr>`, unescaped.
fn rows(page: &str) -> Result<Vec<(String, String)>, String> {
    let row = |rest: &str| {
        let (row, _) = rest.split_once("</td></tr>")?;
        let (id, message) = row.split_once("</td><td>")?;
        Some((id.to_owned(), message.to_owned()))
    };
    let read = |rest| {
        let (id, message) = row(rest).ok_or_else(|| {
            format!(
                "A row of the page has another form than <tr><td>ID</td><td>MESSAGE</td></tr>: {}.",
                shown(rest)
            )
        })?;
        let unescaped = unescaped(&message)
            .ok_or_else(|| format!("The message of row {id} is not escaped as HTML: {}.", shown(&message)))?;
        Ok((id, unescaped))
    };
    page.split("<tr><td>").skip(1).map(read).collect()
}

/// The text that HTML says; `None` where a sign stands in it that must not stand as it is.
fn unescaped(html: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find(['&', '<', '>']) {
        let (plain, from) = rest.split_at(at);
        let (name, after) = from.strip_prefix('&')?.split_once(';')?;
        text.push_str(plain);
        text.push(character(name)?);
        rest = after;
    }
    Some(text + rest)
}

/// Of a character reference: by the names that escaping takes, or by number.
fn character(name: &str) -> Option<char> {
    let code = match (name, name.strip_prefix('#')) {
        ("lt", _) => return Some('<'),
        ("gt", _) => return Some('>'),
        ("amp", _) => return Some('&'),
        ("quot", _) => return Some('"'),
        ("apos", _) => return Some('\''),
        (_, Some(number)) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        },
        _ => return None,
    };
    code.ok().and_then(char::from_u32)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn escaped(message: &str) -> String {
        message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;")
    }

    fn page(rows: &[(&str, String)]) -> String {
        let row = |(id, message): &(&str, String)| format!("<tr><td>{id}</td><td>{message}</td></tr>");
        format!("<table>{}</table>", rows.iter().map(row).collect::<String>())
    }

    pub(in crate::check) fn right_page() -> String {
        page(&right())
    }

    fn right() -> Vec<(&'static str, String)> {
        sorted().into_iter().map(|(id, message)| (id, escaped(message))).collect()
    }

    fn said(change: impl Fn(&mut Vec<(&'static str, String)>)) -> String {
        let mut rows = right();
        change(&mut rows);
        judge(page(&rows).as_bytes()).err().unwrap_or_default()
    }

    #[test]
    fn a_page_of_all_rows_sorted_and_escaped_is_right() {
        assert_eq!(said(|_| ()), "");
        let otherwise = |rows: &mut Vec<(&str, String)>| {
            for (_, message) in rows {
                *message =
                    message.replace("&#34;", "&quot;").replace('\'', "&#x27;").replace("&lt;", "&#60;");
            }
        };
        assert_eq!(said(otherwise), "", "other references say the same");
    }

    #[test]
    fn each_wrong_page_is_refused_by_its_reason() {
        let script = "<script>alert(\"This row is text, not a program.\");</script>";
        let at = |rows: &[(&str, String)], id: &str| rows.iter().position(|(of, _)| *of == id).unwrap();
        let set = |id: &'static str, message: &'static str| {
            move |rows: &mut Vec<(&'static str, String)>| {
                let at = at(rows, id);
                rows[at].1 = message.to_owned();
            }
        };
        for (said, words) in [
            (said(set("11", script)), "The message of row 11 is not escaped as HTML: \"<script>alert"),
            (said(set("7", "\"30 s\" & \"30 s\"")), "The message of row 7 is not escaped"),
            (
                said(set("11", "&amp;lt;script")),
                "The message of row 11 is \"&lt;script\", expected \"<script>",
            ),
            (said(set("9", "?lu?ou?k?")), "The message of row 9 is"),
            (said(|rows| rows.retain(|(id, _)| *id != "0")), "The row that the server adds is missing: 0, "),
            (said(|rows| rows.retain(|(id, _)| *id != "3")), "The row 3 of the database is missing: "),
            (said(|rows| rows.push(("13", "x".to_owned()))), "The page has 14 rows, expected 13."),
            (said(|rows| rows.reverse()), "The rows are not sorted by message"),
            // As a locale sorts, which has small letters among the capital ones.
            (
                said(|rows| {
                    let at = at(rows, "4");
                    let row = rows.remove(at);
                    rows.insert(3, row);
                }),
                "not sorted",
            ),
            (said(set("1", "</td>")), "The message of row 1 is not escaped"),
        ] {
            assert!(
                said.starts_with(words) || (words == "not sorted" && said.contains(words)),
                "{words}: {said}"
            );
        }
        assert_eq!(judge(b"<tr><td>\xff</td>").unwrap_err(), "The page is not UTF-8.");
        assert!(judge(b"<tr><td>1</td></tr>").unwrap_err().contains("has another form"));
    }
}
