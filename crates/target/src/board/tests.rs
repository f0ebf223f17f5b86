use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::*;

/// The answer's text, or what to send instead.
fn said(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Result<String, &'static str> {
    said_of(&Written::default(), method, target, headers, body)
}

/// The same where these rows were written.
fn said_of(
    rows: &Written,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<String, &'static str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut ask = ask(method, path, query).expect("a path").0?;
    headers.iter().for_each(|(name, value)| ask.heard.hear(name.as_bytes(), value.as_bytes()));
    let said = ask.checked(body.as_bytes(), body.len())?.answer(body.as_bytes(), rows);
    let mut text = String::new();
    if said.is_packed {
        GzDecoder::new(&*said.body).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(said.body.into_owned()).unwrap();
    }
    Ok(text)
}

fn get(target: &str) -> Result<String, &'static str> {
    said("GET", target, &[], "")
}

fn json(target: &str) -> Value {
    serde_json::from_str(&get(target).unwrap()).unwrap()
}

const IS_JSON: [(&str, &str); 1] = [("Content-Type", "application/json; charset=utf-8")];

#[test]
fn sums_lengths_and_a_fixed_answer() {
    assert_eq!(get("/baseline11?a=13&b=42").unwrap(), "55");
    assert_eq!(get("/baseline2?b=1&x=3&a=1").unwrap(), "2");
    assert_eq!(said("POST", "/baseline11?a=13&b=42", &[], "20\r\n").unwrap(), "75");
    assert_eq!(get("/pipeline").unwrap(), "ok");
    assert_eq!(said("POST", "/upload", &[], &"x".repeat(1_000_000)).unwrap(), "1000000");
    for target in ["/baseline11", "/baseline11?a=1", "/baseline2?a=1&b=-1", "/baseline2?a=4294967295&b=1"] {
        assert!(get(target).is_err(), "{target}");
    }
    for body in ["", "x", "1 2", "4294967295"] {
        assert!(said("POST", "/baseline11?a=1&b=2", &[], body).is_err(), "{body:?}");
    }
}

#[test]
fn items_are_counted_and_multiplied() {
    let five = json("/json/5?m=7");
    let items = five["items"].as_array().unwrap();
    assert_eq!((&five["count"], items.len()), (&5.into(), 5));
    for (item, id) in items.iter().zip(1..) {
        let [price, quantity, total] =
            ["price", "quantity", "total"].map(|field| item[field].as_u64().unwrap());
        assert_eq!((item["id"].as_u64(), total), (Some(id), price * quantity * 7), "{item}");
        assert!(item["active"].is_boolean() && item["tags"].is_array() && item["rating"]["score"].is_u64());
    }
    assert_eq!(json("/json/50?m=1")["items"].as_array().unwrap().len(), 50);
    for target in ["/json/0?m=1", "/json/51?m=1", "/json/x?m=1", "/json/5", "/json/5?m=0", "/json/5?m=x"] {
        assert!(get(target).is_err(), "{target}");
    }
}

#[test]
fn rows_have_the_prices_that_are_asked_for() {
    for (min, max, limit, count) in [(10, 50, 20, 20), (499, 499, 50, 50), (500, 900, 5, 0), (0, 9, 5, 0)] {
        let rows = json(&format!("/async-db?min={min}&max={max}&limit={limit}"));
        let items = rows["items"].as_array().unwrap();
        assert_eq!((rows["count"].as_u64(), items.len()), (Some(count), count as usize), "{min} to {max}");
        assert!(items.iter().all(|item| (min..=max).contains(&item["price"].as_u64().unwrap())), "{rows}");
    }
    for query in ["", "?min=1&max=2", "?min=3&max=2&limit=1", "?min=1&max=2&limit=0", "?min=1&max=2&limit=51"]
    {
        assert!(get(&format!("/async-db{query}")).is_err(), "{query}");
    }
}

#[test]
fn pages_go_through_a_categorys_rows_once() {
    let ids = |page: u32| -> Vec<u64> {
        let page = json(&format!("/crud/items?category=books&page={page}&limit=50"));
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|item| item["category"] == "books"));
        assert_eq!(page["total"].as_u64(), Some(items.len() as u64));
        items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
    };
    let all: Vec<u64> = (1..=401).flat_map(ids).collect();
    assert_eq!(all, (1..=20_000).map(|at| at * 5).collect::<Vec<_>>());
    assert!(ids(u32::MAX).is_empty());
    for query in ["", "?category=cars&page=1&limit=1", "?category=home&page=0&limit=1"] {
        assert!(get(&format!("/crud/items{query}")).is_err(), "{query}");
    }
}

#[test]
fn writes_are_checked_and_answered() {
    assert_eq!(json("/crud/items/7")["id"], 7);
    let body = r#"{"name":"New","price":5,"quantity":2}"#;
    let row: Value = serde_json::from_str(&said("PUT", "/crud/items/7", &IS_JSON, body).unwrap()).unwrap();
    assert_eq!((&row["id"], &row["name"], &row["price"]), (&7.into(), &"New".into(), &5.into()));
    let whole = r#"{"id":200001,"name":"New","category":"test","price":5,"quantity":2}"#;
    let row: Value = serde_json::from_str(&said("POST", "/crud/items", &IS_JSON, whole).unwrap()).unwrap();
    assert_eq!((&row["id"], &row["category"]), (&200_001.into(), &"test".into()));
    for (method, path, headers, body) in [
        ("PUT", "/crud/items/7", &[][..], body),
        ("PUT", "/crud/items/7", &[("content-type", "text/plain")], body),
        ("PUT", "/crud/items/7", &IS_JSON, "{}"),
        ("POST", "/crud/items", &IS_JSON, body),
        ("POST", "/crud/items", &IS_JSON, r#"{"id":-1,"name":"New","category":"t","price":5,"quantity":2}"#),
        ("POST", "/crud/items", &IS_JSON, &whole[1..]),
    ] {
        assert!(said(method, path, headers, body).is_err(), "{method} {headers:?} {body}");
    }
    let long = body.replace("New", &"x".repeat(257));
    assert!(said("PUT", "/crud/items/7", &IS_JSON, &long).is_err());
    for path in ["/crud/items/4294967296", "/crud/items/x", "/crud/other", "/static/none.css"] {
        assert!(ask("GET", path, "").is_none(), "{path}");
    }
}

#[test]
fn the_last_written_rows_are_read_back() {
    let rows = Written::default();
    let is_there = |id: u32| ask("GET", &format!("/crud/items/{id}"), "").unwrap().0.unwrap().is_there(&rows);
    let read = |id: u32| said_of(&rows, "GET", &format!("/crud/items/{id}"), &[], "").unwrap();
    let write = |method, path: &str, body: &str| said_of(&rows, method, path, &IS_JSON, body).unwrap();
    assert!(!is_there(0) && is_there(1) && is_there(100_000) && !is_there(100_001));
    let made =
        write("POST", "/crud/items", r#"{"id":100001,"name":"New","category":"t","price":5,"quantity":2}"#);
    assert!(is_there(100_001));
    assert_eq!(read(100_001), made);
    let put = write("PUT", "/crud/items/100001", r#"{"name":"Other","price":6,"quantity":2}"#);
    assert_eq!(read(100_001), put);
    assert!(put.contains(r#""name":"Other","category":"t","price":6"#), "{put}");
    for id in 1..=rows::KEPT_MAX {
        write("PUT", &format!("/crud/items/{id}"), r#"{"name":"Changed","price":6,"quantity":2}"#);
    }
    assert!(!is_there(100_001), "the first was dropped for the last");
    assert!((1..=rows::KEPT_MAX as u32).all(|id| read(id).contains("Changed")));
    write("PUT", "/crud/items/9000", r#"{"name":"Changed","price":6,"quantity":2}"#);
    assert!(read(1).contains("Item 1") && read(2).contains("Changed"));
}

#[test]
fn compressed_answers_hold_what_plain_ones_hold() {
    for target in
        ["/json/40?m=8", "/async-db?min=10&max=50&limit=50", "/static/app.js", "/static/manifest.json"]
    {
        let plain = get(target).unwrap();
        for accepted in ["gzip", "br;q=1, GZIP;q=0.8", "deflate,gzip"] {
            assert_eq!(said("GET", target, &[("accept-encoding", accepted)], "").unwrap(), plain, "{target}");
        }
    }
    for (accepted, is_packed) in
        [("br", false), ("gzip;q=0", false), ("gzip; q=0.0", false), ("x-gzip", false), ("gzip;q=0.01", true)]
    {
        let mut heard = Heard::default();
        heard.hear(b"Accept-Encoding", accepted.as_bytes());
        assert_eq!(heard.takes_gzip, is_packed, "{accepted}");
    }
}

#[test]
fn files_are_of_their_length_and_the_same_each_time() {
    let lengths: Vec<usize> = (0..20).map(|at| files::file(at).1.plain.len()).collect();
    assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&3_000), Some(&120_000)));
    let packed = (0..20).filter_map(|at| files::file(at).1.packed.as_ref());
    assert!(packed.clone().count() == 15 && packed.map(Vec::len).sum::<usize>() < 300_000);
    let manifest = get("/static/manifest.json").unwrap();
    assert!(serde_json::from_str::<String>(&manifest).unwrap().starts_with(char::is_alphabetic));
}
