use super::*;
use proptest::prelude::*;

/// Files that lists name.
fn files(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let content: Vec<u8> = match path {
        "/path/to/newthing.json" | "body.json" => b"{\"a\": 1}".to_vec(),
        "lines.txt" => b"a=1\r\nb=2\n".to_vec(),
        "binary" => vec![0, 255, b'\n'],
        "large" => vec![b'a'; OWN_MAX_BYTES / 4],
        _ => return Err("No such file or directory (os error 2)".to_owned()),
    };
    Ok(content.into_iter().take(most as usize).collect())
}

fn read_as(format: Option<Format>, text: impl AsRef<[u8]>) -> Result<TargetList, String> {
    let server = Target::parse("http://h/").unwrap();
    let read = TargetList::read(text.as_ref(), format, Some(&server), "GET", Order::InTurn, &files);
    let all = |errors: Vec<ListError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    read.map(|(_, list)| list).map_err(all)
}

fn read(text: impl AsRef<[u8]>) -> Result<TargetList, String> {
    read_as(None, text)
}

/// `METHOD /path | Name: value | body` of each line.
fn shown(list: &TargetList) -> Vec<String> {
    let one = |request: &ListedRequest| {
        let own = request.own.as_deref().cloned().unwrap_or_default();
        let headers: Vec<String> =
            own.headers.iter().map(|(name, value)| format!("{name}: {}", value.value())).collect();
        let body = own.body.map_or("-".to_owned(), |body| String::from_utf8_lossy(&body).into_owned());
        format!("{} {} | {} | {body}", request.method, request.path, headers.join(", "))
    };
    list.lines.iter().map(|line| one(&list.requests[*line as usize])).collect()
}

#[test]
fn vegetas_text_has_headers_and_body_files() {
    // As vegeta's README has them, and without the empty line between two.
    let text = "\u{feff}GET http://h:80/path/to/dragon?item=ball\r\nX-Account-ID: 8675309\r\n\r\n# a comment\n\
                DELETE http://h/path/to/remove\nConfirmation-Token: 90215\nAuthorization: Token DEADBEEF\n\n\n\
                POST http://h/things\nContent-Type: application/json\n@/path/to/newthing.json\n\n\
                GET /a\nGET /b\nX: 1\nX: 2\nHEAD /c";
    let list = read(text).unwrap();
    assert_eq!(list.format, Format::Vegeta);
    assert_eq!(
        shown(&list),
        [
            "GET /path/to/dragon?item=ball | X-Account-ID: 8675309 | -",
            "DELETE /path/to/remove | Confirmation-Token: 90215, Authorization: Token DEADBEEF | -",
            "POST /things | Content-Type: application/json | {\"a\": 1}",
            "GET /a |  | -",
            "GET /b | X: 1, X: 2 | -",
            "HEAD /c |  | -",
        ]
    );
    let authorization = &list.requests[1].own.as_ref().unwrap().headers[1].1;
    assert!(authorization.is_hidden() && !format!("{list:?}").contains("DEADBEEF"));
    assert_eq!(list.requests[3].own, None, "what has nothing of its own pays for nothing");
}

#[test]
fn vegetas_json_has_bodies_in_base64() {
    let text = "{\"method\":\"POST\",\"url\":\"http://h/t\",\"body\":\"cHVuY2g=\",\"header\":{\"X-B\":[\"1\",\"2\"]}}\n\n\
                {\"method\":\"GET\",\"url\":\"http://h/t\"}\n{\"method\":\"GET\",\"url\":\"/u\",\"header\":null,\"body\":null}";
    let list = read(text).unwrap();
    assert_eq!(list.format, Format::VegetaJson);
    assert_eq!(shown(&list), ["POST /t | X-B: 1, X-B: 2 | punch", "GET /t |  | -", "GET /u |  | -"]);
}

#[test]
fn curls_commands_are_requests() {
    let text = r#"
        # As browsers copy them, and by hand.
        curl 'http://h/api/items?a=1&b=2' \
          -X 'PUT' \
          -H 'Content-Type: application/json' \
          --data-raw '{"name": "it'\''s",
 "b": "$5 @x"}' --compressed
        curl -sS -XDELETE -o /dev/null h/x
        curl http://h/f -d a=1 -d @lines.txt --data-binary @lines.txt
        curl --json '{"a":' --json '1}' http://h/j
        curl -G -d q=1 -d r=2 "http://h/s?z=0" -u me:pw -A agent/1 -e http://h/from -b 'a=b; c=d'
        curl --json '{}' -H 'content-type: a/b' -A x -H 'User-Agent: y' --compressed -H 'Accept:' http://h/
        curl -I --url=/h
        curl -I --url /h"#;
    let said = read(text).unwrap_err();
    assert_eq!(
        said,
        "line 13: \"--url=/h\" is no option of curl's that Prony reads from a list: leave it out."
    );
    let list = read(text.replace("curl -I --url=/h\n", "")).unwrap();
    assert_eq!(list.format, Format::Curl);
    assert_eq!(
        shown(&list),
        [
            "PUT /api/items?a=1&b=2 | Content-Type: application/json, Accept-Encoding: deflate, gzip, br | {\"name\": \"it's\",\n \"b\": \"$5 @x\"}",
            "DELETE /x |  | -",
            "POST /f | Content-Type: application/x-www-form-urlencoded | a=1&a=1b=2&a=1\r\nb=2\n",
            "POST /j | Content-Type: application/json, Accept: application/json | {\"a\":1}",
            "GET /s?z=0&q=1&r=2 | Cookie: a=b; c=d, Authorization: Basic bWU6cHc=, User-Agent: agent/1, Referer: http://h/from | -",
            "POST / | content-type: a/b, User-Agent: y, Accept-Encoding: deflate, gzip, br | {}",
            "HEAD /h |  | -",
        ]
    );
}

#[test]
fn what_is_no_request_of_curls_is_refused_by_name() {
    for (line, says) in [
        ("curl -k https://h/", "-k: it is of the whole load"),
        ("curl -sk https://h/", "-k: it is of the whole load"),
        ("curl -L http://h/", "no redirect"),
        ("curl --upload-file x http://h/", "\"--upload-file\" is no option"),
        ("curl -F a=b http://h/", "no forms of several parts"),
        ("curl http://[::1]:8080/", "the server http://[::1]:8080, and the load goes to"),
        ("curl 'http://[::1]/[1-3]'", "several"),
        ("curl 'http://{a,b}/'", "several"),
        ("curl http://h/a http://h/b", "two URLs"),
        ("curl -X", "no value"),
        ("curl -s", "no URL"),
        ("curl http://h/ -H X-Key", "no colon"),
        ("curl http://h/ -b jar.txt", "a file of cookies"),
        ("curl http://h/ -H \"Authorization: Bearer $TOKEN\"", "a shell puts"),
        ("curl http://h/ --data-raw $'a\\u0021'", "$'…'"),
        ("curl http://h/ | jq .", "|"),
        ("curl http://h/?a=1&b=2", "put the URL in quotes"),
        ("curl 'http://h/[1-3]'", "several"),
        ("curl 'http://h/a", "a quote that it does not close"),
        ("curl http://h/ -d @none", "could not be read: No such file"),
        ("curl http://h/ -d @none\\", "ends in a backslash"),
        ("curl http://h/ -d @large -d @large -d @large -d @large -d @large", "over 4 MiB"),
    ] {
        let said = read(line).unwrap_err();
        assert!(said.starts_with("line 1: ") && said.contains(says), "{line}: {said}");
    }
}

#[test]
fn own_json_lines_have_weights_and_expectations() {
    let text = r#"{"url": "/a", "weight": 3, "expect": {"status": 200, "json": {"/id": 17, "/name": "17"}}}
# a comment
{"method": "PUT", "url": "/b", "headers": {"Accept": "*/*", "X": ["1", "2"]}, "body": "text"}
{"url": "/c", "body_file": "body.json", "expect": {"sha256": "aa"}}"#;
    assert!(read(text).unwrap_err().starts_with("line 4: Its sha256"));
    let list = read(text.replace("\"aa\"", &format!("{:?}", "ab".repeat(32)))).unwrap();
    assert_eq!(list.format, Format::Jsonl);
    assert_eq!(
        shown(&list),
        [
            "GET /a |  | -",
            "GET /a |  | -",
            "GET /a |  | -",
            "PUT /b | Accept: */*, X: 1, X: 2 | text",
            "POST /c |  | {\"a\": 1}",
        ]
    );
    let expect = list.requests[0].own.as_ref().unwrap().expect.clone().unwrap();
    let values: Vec<_> = expect.json.iter().map(crate::json_value::JsonValue::expected).collect();
    assert_eq!((expect.status, values), (Some(200), vec![17.into(), "17".into()]));
    assert_eq!(list.requests[2].own.as_ref().unwrap().expect.as_ref().unwrap().sha256, Some([0xab; 32]));
}

#[test]
fn json_bodies_of_either_kind_are_not_guessed() {
    let text = "{\"url\": \"/a\", \"method\": \"POST\", \"body\": \"dGV4dA==\"}";
    assert!(read(text).unwrap_err().contains("--targets-format jsonl or vegeta-json"));
    assert_eq!(shown(&read_as(Some(Format::Jsonl), text).unwrap()), ["POST /a |  | dGV4dA=="]);
    assert_eq!(shown(&read_as(Some(Format::VegetaJson), text).unwrap()), ["POST /a |  | text"]);
}

#[test]
fn a_folder_of_raw_requests_is_a_list() {
    let folder = std::env::temp_dir().join(format!("prony-raw-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("b.raw", "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nX: 1\r\n\r\nab\r\n");
    write("a.raw", "GET /a?x HTTP/1.1\nHost: other.example\n\n");
    write("f.raw", "POST /f HTTP/1.1\nHost: h\nTransfer-Encoding: Chunked\n\n2\nab\n1;x=1\r\nc\r\n0\n\n");
    write("notes.txt", "none");
    let of = |server: Option<&Target>| {
        let path = folder.to_str().unwrap().as_bytes();
        TargetList::read(path, Some(Format::Raw), server, "GET", Order::InTurn, &files)
    };
    let server = Target::parse("http://h:8080/").unwrap();
    let list = of(Some(&server)).unwrap().1;
    assert_eq!(
        shown(&list),
        ["GET /a?x | Host: other.example | -", "POST /b | Host: h, X: 1 | ab", "POST /f | Host: h | abc"]
    );
    let chunked: Vec<bool> = list.requests.iter().map(|one| one.own.as_ref().unwrap().chunked).collect();
    assert_eq!(chunked, [false, false, true]);
    let (first, list) = of(None).unwrap();
    assert_eq!((first.host.as_str(), list.origins.len()), ("other.example", 2));
    write("c.raw", "GET /c\n\n");
    write("d.raw", "POST /d HTTP/1.1\nHost: h\nContent-Length: 9\n\nab");
    write("e.raw", "GET /e HTTP/1.1\nTransfer-Encoding: chunked\n\n");
    let said: Vec<String> = of(Some(&server)).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("c.raw: It does not begin with a request line"), "{said:?}");
    assert!(said[1].contains("d.raw: Its body has 2 bytes, and its Content-Length is 9"), "{said:?}");
    assert!(said[2].contains("e.raw: Its body is not in chunks"), "{said:?}");
    for body in ["2\nabc\n0\n\n", "2\nab", "x\n", "5\nab\n0\n\n", "0\n\nmore", "ffffffffffffffff\na\n"] {
        write("e.raw", &format!("POST /e HTTP/1.1\nTransfer-Encoding: chunked\n\n{body}"));
        assert!(of(Some(&server)).unwrap_err()[2].to_string().contains("not in chunks"), "{body:?}");
    }
    let pipe = folder.join("b.raw");
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    write(
        "a.raw",
        &format!("GET /a HTTP/1.1\nHost: h\n\n{}", "\n".repeat(OWN_MAX_BYTES + COMMAND_MAX_BYTES)),
    );
    let said: Vec<String> = of(Some(&server)).unwrap_err().iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("a.raw: It could not be read: it is longer than 5242880 bytes."), "{said:?}");
    assert!(said[1].starts_with("b.raw: It could not be read: it is a pipe"), "{said:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_first_ten_wrong_lines_are_named() {
    let text: String = (0..20).map(|i| if i % 2 == 0 { "/a\n" } else { "ftp://h/\n" }).collect();
    let said = read(text).unwrap_err();
    let lines: Vec<_> = said.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(lines, (1..=10).map(|i| format!("line {}", i * 2)).collect::<Vec<_>>());
}

#[test]
fn hostile_lines_are_refused_with_their_number() {
    let long = format!("{{\"url\": \"/a\", \"headers\": {{\"X\": \"{}\"}}}}", "a".repeat(COMMAND_MAX_BYTES));
    let url = format!("{{\"url\": \"/{}\", \"weight\": 1}}", "a".repeat(LINE_MAX_BYTES));
    for (text, says) in [
        ("GET /a\nX: a\0b\n", "line 1: The value of the header X"),
        ("GET /a\nX: 1\n\nGET /a\nBearer s3cret\n", "line 5: \"Bearer\" … is no header"),
        ("GET /a\n@none\n", "line 2: Its body \"none\" could not be read"),
        ("GET /a\n@binary\nX: s3cret", "line 3: "),
        ("X: 1\nGET /a\nX: 1", "line 1: "),
        (
            "{\"method\":\"GET\",\"url\":\"/a\",\"header\":{},\"body\":\"%%\"}",
            "line 1: Its body is not Base64",
        ),
        (
            "{\"method\":\"GET\",\"url\":\"/a\",\"header\":{\"X\":\"s3cret\"}}",
            "line 1: It is no request: a value",
        ),
        ("{\"url\":\"/a\",\"weight\":0}", "line 1: Its weight is 0"),
        ("{\"url\":\"/a\",\"weight\":1000000}\n{\"url\":\"/a\"}", "line 2: A list may have at most"),
        ("{\"url\":\"/a\",\"expect\":{\"json\":{\"id\":1}}}", "line 1: \"id\" is not a JSON pointer"),
        ("{\"url\":\"/a\",\"weight\":1,\"boby\":1}", "line 1: It is no request: unknown field `boby`"),
        ("{\"url\":\"/a\",\"headers\":{\"Content-Length\":\"5\"}}", "line 1: Prony writes the header"),
        ("{\"url\":\"/a\",\"headers\":{\"A b\":\"5\"}}", "line 1: \"A b\" is not a header's name"),
        ("{\"url\":\"/a\"", "line 1: It is no request: it is not JSON"),
        (&long, "line 1: It has "),
        (&url, "line 1: Its URL has "),
    ] {
        let said = read(text).unwrap_err();
        assert!(
            said.starts_with(says) && !said.contains("s3cret"),
            "{}: {said}",
            &text[..text.len().min(60)]
        );
    }
}

#[test]
fn an_own_length_that_is_right_is_no_header() {
    let list = read("POST /a\nContent-Length: 8\n@body.json").unwrap();
    assert_eq!(shown(&list), ["POST /a |  | {\"a\": 1}"]);
}

#[test]
fn lists_that_differ_in_headers_alone_differ() {
    let of = |value: &str| read(format!("GET /a\nX: {value}")).unwrap().fingerprint();
    assert_ne!(of("1"), of("2"));
    let secret = |value: &str| read(format!("GET /a\nX-Token: {value}")).unwrap().fingerprint();
    assert_eq!(secret("1"), secret("2"), "a guess is not confirmed by it");
}

#[test]
fn lists_that_differ_in_any_part_differ() {
    let of = |parts: &str| {
        let list = read(format!("{{\"url\": \"/a\", \"method\": \"PUT\", \"weight\": 1{parts}}}")).unwrap();
        list.fingerprint()
    };
    let parts = [
        "",
        r#","body":"""#,
        r#","body":"b""#,
        r#","body":"b","chunked":true"#,
        r#","body":"b","headers":{"b":""}"#,
        r#","expect":{}"#,
        r#","expect":{"body":""}"#,
        r#","expect":{"body":"b"}"#,
        r#","expect":{"status":200}"#,
        r#","expect":{"json":{"/b":""}}"#,
    ];
    let all: std::collections::BTreeSet<u64> = parts.into_iter().map(of).collect();
    assert_eq!(all.len(), parts.len());
    assert!(
        of("") > u64::from(u32::MAX) && u32::try_from(of(parts[2])).is_ok(),
        "a body is not guessed by it"
    );
}

#[test]
fn what_requests_have_of_their_own_is_bounded() {
    let body = |a: &str| format!("{{\"url\": \"/a\", \"body\": \"{a}{}\"}}\n", "a".repeat(OWN_MAX_BYTES / 5));
    let all: Vec<String> = (0..6).map(|i| body(&i.to_string())).collect();
    let said = read_as(Some(Format::Jsonl), all.concat() + "no request").unwrap_err();
    assert!(said.starts_with("line 5: With it the headers and bodies of the list take over 4 MiB"), "{said}");
    assert_eq!(said.lines().count(), 1, "nothing is read behind it");
    let same = read_as(Some(Format::Jsonl), all[0].repeat(9)).unwrap();
    assert_eq!((same.requests.len(), same.lines.len()), (1, 9), "a request is counted once");
}

proptest! {
    #[test]
    fn arbitrary_text_of_any_format_does_not_panic(
        text in "(curl|GET|POST| |/a|http://h/|'|\"|\\\\|\n|\r|-d|-H|@body.json|X: 1|#|\\{|\"url\":|\"/a\"|\\}|,|-X|\\$){0,30}",
    ) {
        for format in [None, Some(Format::Vegeta), Some(Format::VegetaJson), Some(Format::Curl), Some(Format::Jsonl)] {
            if let Err(said) = read_as(format, &text) {
                prop_assert!(said.lines().count() <= ERRORS_MAX && !said.is_empty());
            }
        }
    }
}
