use super::*;
use crate::plan::Work;

struct Written(std::path::PathBuf);

impl Written {
    fn new(name: &str, text: &[u8]) -> Written {
        let path = std::env::temp_dir().join(format!("prony-long-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Written(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn server() -> Target {
    Target::parse("http://h/").unwrap()
}

fn plan(list: TargetList) -> Plan {
    let mut plan = Plan::closed(server());
    plan.work = Work::List(list);
    plan
}

const NO_FILES: crate::input::ReadFile<'static> = &|_, _| Err("no files".to_owned());

fn in_memory(text: &[u8]) -> Result<TargetList, Vec<ListError>> {
    TargetList::read(text, None, Some(&server()), "GET", Order::InTurn, NO_FILES).map(|read| read.1)
}

/// One of each format, with all that a file may have between its requests.
const LISTS: [&str; 5] = [
    "\u{feff}/a\r\n\n# no request\nPOST /b?x=1\n   /c  \nhttp://h/d\n/a",
    "GET http://h/a\nX-A: 1\nX-B: 2\n\n# none\nDELETE http://h/b\nGET http://h/c\n\n\n",
    "{\"method\":\"POST\",\"url\":\"/a\",\"header\":{\"X\":[\"1\",\"2\"]},\"body\":\"YWI=\"}\n{\"method\":\"GET\",\"url\":\"/b\"}\n",
    "curl http://h/a -H 'X: 1'\n\n#\ncurl http://h/b \\\n  -d 'two\n\nlines'\ncurl -I http://h/c\n",
    "{\"url\":\"/a\",\"headers\":{\"Authorization\":\"Bearer 12345678\"},\"expect\":{\"status\":204}}\n{\"url\":\"/b\",\"body\":\"x\"}\n",
];

#[test]
fn a_file_has_the_requests_that_it_has_in_memory() {
    for (at, text) in LISTS.iter().enumerate() {
        // More than the places that are noted, so that they are used.
        for rounds in [1, 700] {
            let text = text.trim_start_matches('\u{feff}').repeat(rounds);
            let text = format!("\u{feff}{}", if at == 0 { text.replace("/a/a", "/a\n/a") } else { text });
            let list = in_memory(text.as_bytes()).unwrap();
            let file = Written::new(&format!("same-{at}"), text.as_bytes());
            let (target, long) = TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap();
            assert_eq!((target, long.format), (server(), list.format));
            assert_eq!((long.count(), long.fingerprint()), (list.count(), list.fingerprint()), "{text}");
            assert_eq!(long.file.as_ref().unwrap().sha256, sha256_of(text.as_bytes()));
            let plan = plan(long);
            let mut read = LongReader::open(&plan).unwrap();
            let count = list.count();
            let steps = (0..2 * count + 3).chain((0..count).step_by(7)).chain((0..count).rev().step_by(501));
            for number in steps {
                let wanted = &list.requests[list.lines[(number % count) as usize] as usize];
                assert_eq!(&read.request(number).unwrap(), wanted, "{number} of {text}");
            }
        }
    }
}

#[test]
fn the_first_ten_errors_are_those_of_memory() {
    let texts = [
        format!("/a\n{}", "b c d\n\n/e\n".repeat(20)),
        "GET http://h/a\nX: 1\nno header\nGET http://h/b\n\nGET h\n".to_owned(),
        "curl http://h/a\ncurl http://h/b 'open\n".to_owned(),
        format!("{{\"url\":\"/a\",\"weight\":1}}\n{}", "{\"url\":1}\n".repeat(12)),
        format!("/{}\n/b\n", "x".repeat(COMMAND_MAX_BYTES + 9)),
        "# nothing\n".to_owned(),
    ];
    for (at, text) in texts.iter().enumerate() {
        let file = Written::new(&format!("errors-{at}"), text.as_bytes());
        let found = TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap_err();
        let wanted = in_memory(text.as_bytes()).unwrap_err();
        let lines = |errors: &[ListError]| errors.iter().map(|e| e.line).collect::<Vec<_>>();
        assert_eq!(lines(&found), lines(&wanted), "{found:?}");
        assert!(found.len() <= ERRORS_MAX);
        // How long a line is, that is longer than any may be, is not looked for.
        if at != 4 {
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn what_only_memory_can_have_is_refused() {
    let line = |more: &str| format!("{{\"url\":\"/a\",\"headers\":{{}}{more}}}\n");
    for (at, (text, why)) in [
        (line(",\"weight\":2"), "has a weight"),
        (line(",\"body_file\":\"x\""), "bodies in its lines"),
        ("http://a/\nhttp://b/\n".to_owned(), "names another server than the first line"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = Written::new(&format!("memory-{at}"), text.as_bytes());
        let errors = TargetList::pass(&file.0, None, None, "GET").unwrap_err();
        assert!(errors[0].why.contains(why) || errors[0].why.contains("no server is known"), "{errors:?}");
        let errors = TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap_err();
        assert!(errors[0].why.contains(why) || errors[0].why.contains("the load goes to"), "{errors:?}");
    }
    let errors = TargetList::pass("/no/such/file".as_ref(), None, None, "GET").unwrap_err();
    assert!(errors[0].why.starts_with("it could not be read: No such file"), "{errors:?}");
}

#[test]
fn of_each_expectation_one_request_is_kept() {
    let expecting = |status: usize| format!("{{\"url\":\"/a\",\"expect\":{{\"status\":{status}}}}}\n");
    let text = format!(
        "{{\"url\":\"/0\"}}\n{{\"url\":\"/1\"}}\n{}{{\"url\":\"/2\",\"method\":\"HEAD\"}}\n{}{{\"url\":\"/3\"}}\n",
        expecting(204),
        expecting(204)
    );
    let file = Written::new("kinds", text.as_bytes());
    let list = TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap().1;
    assert_eq!(list.lines, [0, 0, 1, 2, 1, 0]);
    assert_eq!((list.requests.len(), list.count(), list.expecting()), (3, 6, 1));
    let many: String =
        (0..=KINDS_MAX).map(|at| expecting(100).replace("100", &format!("100,\"body\":\"{at}\""))).collect();
    let file = Written::new("many-kinds", many.as_bytes());
    let errors = TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap_err();
    assert!(
        errors[0].line == Some(KINDS_MAX + 1) && errors[0].why.contains("1000 different expectations"),
        "{errors:?}"
    );
}

#[test]
fn a_file_that_has_changed_is_told() {
    let text = "/a\n".repeat(3_000);
    let change = |how: &dyn Fn(&Path), read: u64| {
        let file = Written::new("changed", text.as_bytes());
        let plan = plan(TargetList::pass(&file.0, None, Some(&server()), "GET").unwrap().1);
        let mut list = LongReader::open(&plan).unwrap();
        list.request(0).unwrap();
        how(&file.0);
        let why = (0..read).find_map(|number| list.request(number).err()).or(list.check().err());
        assert!(why.unwrap().0.contains("has changed while it was used"), "{read}");
        assert!(LongReader::open(&plan).is_err());
    };
    let write = |text: String| move |path: &Path| std::fs::write(path, &text).unwrap();
    change(&write("/a\n".repeat(2)), 9_001);
    change(&write(String::new()), 9_001);
    change(&write("/a\n".repeat(3_001)), 0);
    change(&write("b c\n".repeat(2_250)), 9_001);
}
