use super::*;
use crate::request;
use proptest::prelude::*;

fn read(text: &str) -> Result<(Target, TargetList), String> {
    TargetList::parse(text.as_bytes(), None, "GET", Order::InTurn).map_err(|e| e.to_string())
}

fn names(list: &TargetList) -> Vec<String> {
    list.lines.iter().map(|line| list.requests[*line as usize].name()).collect()
}

#[test]
fn a_line_is_a_url_or_a_method_and_one() {
    let text = "\u{feff}# a list\nhttp://H:8080/a\r\n\n  POST   http://h:8080/b?c#d  \nHEAD\t/e\n/e\n # no\nhttp://h:8080";
    let (server, list) = read(text).unwrap();
    assert_eq!(names(&list), ["GET /a", "POST /b?c", "HEAD /e", "GET /e", "GET /"]);
    assert_eq!((server.display_url().as_str(), server.tls), ("http://H:8080/", false));
    let (_, list) = TargetList::parse(b"http://h/\nGET http://h/", None, "PUT", Order::Shuffled).unwrap();
    assert_eq!((names(&list), list.order), (vec!["PUT /".to_owned(), "GET /".to_owned()], Order::Shuffled));
}

#[test]
fn the_same_line_again_is_the_same_request() {
    let (_, list) = read("http://h/a\nhttp://h/b\nGET http://h/a\nhttp://me:pw@h/a\n").unwrap();
    assert_eq!((list.requests.len(), list.lines.as_slice()), (3, &[0, 1, 0, 2][..]));
    assert_eq!(list.lines_of_each(), [2, 1, 1]);
    assert_eq!(list.requests[2].userinfo, Some(Secret::hidden("me:pw")));
    assert_eq!(list.requests[2].name(), "GET /a");
    let other = read("http://h/b\nhttp://h/a\nhttp://h/a\nhttp://h/a\n").unwrap().1;
    assert_ne!(list.fingerprint(), other.fingerprint());
}

#[test]
fn secret_parameters_are_sent_and_not_shown() {
    let of = |token: &str| read(&format!("http://h/a?token={token}&b=c")).unwrap().1;
    let (list, other) = (of("s3cret"), of("another"));
    assert_eq!(list.requests[0].path, "/a?token=s3cret&b=c");
    assert_eq!(list.requests[0].name(), "GET /a?token=[redacted]&b=c");
    assert_eq!(list.fingerprint(), other.fingerprint(), "a guess is not confirmed by it");
}

#[test]
fn paths_go_to_the_server_of_the_command_line() {
    let server = Target::parse("https://me:pw@h/").unwrap();
    let of = |text: &str| TargetList::parse(text.as_bytes(), Some(&server), "GET", Order::InTurn);
    let (target, list) = of("/a\nhttps://h:443/b\n//c").unwrap();
    assert_eq!(
        (names(&list), target.display_url()),
        (vec!["GET /a".into(), "GET /b".into(), "GET //c".into()], "https://h/".to_owned())
    );
    assert_eq!(list.requests[0].userinfo, Some(Secret::hidden("me:pw")));
    assert_eq!(list.requests[1].userinfo, None);
    assert!(of("http://h:443/").unwrap_err().why.contains("the load goes to https://h: only a list without"));
}

/// A list that names so many servers.
fn servers(count: usize) -> String {
    (0..count).map(|i| format!("http://me:pw@h:{}/a\n", 8000 + i)).collect()
}

#[test]
fn whole_urls_may_name_several_servers() {
    let text = "http://h/a?token=s3\nhttps://me:pw@h/b\nHTTP://H:80/c\nPOST http://i:81/a\nhttp://h/c\n";
    let (server, list) = read(text).unwrap();
    let urls: Vec<String> = list.origins.iter().map(Target::display_url).collect();
    assert_eq!(urls, ["http://h/", "https://h/", "http://i:81/"]);
    assert_eq!((&list.origins[0], list.origins[1].userinfo.is_none()), (&server, true));
    assert_eq!(list.requests.iter().map(|one| one.origin).collect::<Vec<_>>(), [0, 1, 0, 2]);
    assert_eq!(list.lines_of_origins(3), [3, 1, 1]);
    let names: Vec<String> = list.requests.iter().map(|one| list.name(one)).collect();
    let shown =
        ["GET http://h/a?token=[redacted]", "GET https://h/b", "GET http://h/c", "POST http://i:81/a"];
    assert_eq!(names, shown);
    let (_, one) = read("http://h/a\nhttp://H:80/b\n").unwrap();
    assert_eq!((one.origins.len(), one.name(&one.requests[1]).as_str()), (0, "GET /b"));
    // Which line is for which server counts, and where they are does not.
    let of = |text: &str| read(text).unwrap().1.fingerprint();
    assert_eq!(of("http://h/a\nhttp://i/a\n"), of("http://j/a\nhttp://k/a\n"));
    assert_ne!(of("http://h/a\nhttp://i/a\n"), of("http://h/a\nhttp://h/a\n"));
    assert_eq!(read(&servers(ORIGINS_MAX)).unwrap().1.origins.len(), ORIGINS_MAX);
    let said = read(&servers(ORIGINS_MAX + 1)).unwrap_err();
    assert!(said.starts_with("line 65: It names the server http://h:8064, and lines before it 64"), "{said}");
}

#[test]
fn wrong_lines_are_refused_with_their_number() {
    let long = format!("http://h/{}", "a".repeat(LINE_MAX_BYTES));
    for (text, line, says) in [
        ("http://h/\nhttp://i/\n/a", 3, "write its whole URL"),
        ("http://h/\n/a\nhttps://h/", 3, "lines before it are paths, of http://h:"),
        ("/a", 1, "no server is known"),
        ("http://h/\nh/x", 2, "write http://h/x"),
        ("# c\nftp://h/", 2, "not a scheme"),
        ("http://h/\n\nG@T http://h/", 3, "not a method"),
        ("GET", 1, "no URL after it"),
        ("CONNECT http://h/", 1, "tunnel"),
        ("GET http://h/\nX-Key: s3cret", 2, "\"X-Key:\" is not a method"),
        ("GET http://h/\n@/tmp/body.json", 2, "has no scheme"),
        ("{\"method\": \"GET\", \"url\": \"http://h/\"}", 1, "is not a method"),
        ("http://h/ POST a=1", 1, "POST follows the URL, as siege has it"),
        ("http://h/ POST <./body", 1, "with -b"),
        ("HOST=h\nhttp://$(HOST)/a", 1, "a variable of siege's"),
        ("http://h/\nhttp://${HOST}/a", 2, "a variable of siege's"),
        ("http://$HOST/a", 1, "has no host"),
        ("http://h/\nlocalhost:8080/a", 2, "write http://localhost:8080/a"),
        ("GET http://h/ HTTP/1.1", 1, "follows the URL"),
        ("http://h/\nhttp://h/\u{e9}", 2, "percent-encode"),
        ("http://h/\nhttp://h/a\0b", 2, "0x00"),
        ("http://h/\nhttp://h:0/", 2, "1 to 65535"),
        (&long, 1, "a line may have 16384"),
    ] {
        let said = read(text).unwrap_err();
        let short = |s: &str| s.chars().take(60).collect::<String>();
        assert!(said.starts_with(&format!("line {line}: ")), "{}: {said}", short(text));
        assert!(said.contains(says) && !said.contains("s3cret"), "{}: {said}", short(text));
    }
    for empty in ["", "\n\n# nothing\n"] {
        assert!(read(empty).unwrap_err().contains("no request"));
    }
}

#[test]
fn what_only_looks_like_a_line_of_another_tool_is_a_request() {
    for line in ["http://h/a?x=$(y)", "http://h/@a", "http://h/a=b", "POST http://h/a:b"] {
        assert!(read(line).is_ok(), "{line}: {:?}", read(line));
    }
}

#[test]
fn a_line_that_is_not_utf_8_is_named() {
    let error = TargetList::parse(b"http://h/\nhttp://h/\xff", None, "GET", Order::InTurn).unwrap_err();
    assert_eq!((error.line, error.why.contains("not UTF-8 (byte 10)")), (Some(2), true), "{error}");
}

#[test]
fn one_line_too_many_is_refused() {
    let text = "/\n".repeat(LINES_MAX);
    let server = Target::parse("http://h/").unwrap();
    let parse = |text: &str| TargetList::parse(text.as_bytes(), Some(&server), "GET", Order::InTurn);
    assert_eq!(parse(&text).unwrap().1.lines.len(), LINES_MAX);
    assert_eq!(parse(&(text + "/")).unwrap_err().line, Some(LINES_MAX + 1));
}

#[test]
fn passwords_are_in_no_sentence() {
    for text in
        ["me:s3cret@h/ x", "GET me:s3cret@h/", "http://me:s3cret@h/\n/a\nhttp://me:s3cret@i/", "me:s3cret@h/"]
    {
        let said = read(text).unwrap_err();
        assert!(!said.contains("s3cret"), "{said}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = TargetList::parse(&bytes, None, "GET", Order::InTurn);
    }

    #[test]
    fn every_accepted_line_is_a_valid_request(text in "([A-Z/ahtp:.#\t ]{0,12}\n?){0,8}") {
        let server = Target::parse("http://h/").unwrap();
        if let Ok((_, list)) = TargetList::parse(text.as_bytes(), Some(&server), "GET", Order::InTurn) {
            prop_assert!(list.lines.iter().all(|line| (*line as usize) < list.requests.len()));
            for request in &list.requests {
                prop_assert!(request.path.starts_with('/') && request.path.bytes().all(|b| b > b' '));
                prop_assert!(request::check_method(&request.method).is_ok());
            }
        }
    }
}
