//! Any bytes as a list of requests (`--targets`), in each format: requests to one server or several, or sentences with
//! their lines.

use prony_model::list::{ERRORS_MAX, Format, LINES_MAX, ListError, Order, TargetList};
use prony_model::plan::Work;
use prony_model::{Plan, Target};

/// Reads the bytes as a list that names its server, and as one whose server is known.
pub fn check(input: &[u8]) {
    let server = Target::parse("http://127.0.0.1:8080/").expect("a URL");
    for known in [None, Some(&server)] {
        match TargetList::parse(input, known, "GET", Order::InTurn) {
            Ok((target, list)) => reads_back(&target, &list),
            Err(e) => is_sentence(&e, input),
        }
        let formats = [Format::Vegeta, Format::VegetaJson, Format::Curl, Format::Jsonl].map(Some);
        for format in formats.into_iter().chain([None]) {
            match TargetList::read(input, format, known, "GET", Order::InTurn, &body) {
                Ok((target, list)) => sound(target, list),
                Err(all) => {
                    assert!((1..=ERRORS_MAX).contains(&all.len()));
                    all.iter().for_each(|e| is_sentence(e, input));
                }
            }
        }
    }
}

/// Every file that a list names has this content.
fn body(_: &str, most: u64) -> Result<Vec<u8>, String> {
    Ok(b"{}\r\n"[..4.min(most as usize)].to_vec())
}

fn is_sentence(e: &ListError, input: &[u8]) {
    let said = e.to_string();
    assert!(said.contains(' ') && !said.contains(char::is_control), "{said:?} is no sentence");
    let lines = input.split(|byte| *byte == b'\n').count();
    assert!(e.line.is_none_or(|line| (1..=lines).contains(&line)), "{said}");
}

fn sound(target: Target, list: TargetList) {
    assert!((1..=LINES_MAX).contains(&list.lines.len()) && target.path == "/");
    let each = list.lines_of_each();
    assert_eq!(each.iter().sum::<u64>(), list.lines.len() as u64);
    assert!(each.len() == list.requests.len() && each.iter().all(|lines| *lines > 0));
    for request in &list.requests {
        // All of it can stand in a request's first line.
        assert!(request.path.starts_with('/') && !request.method.is_empty());
        let line = format!("{}{}", request.method, request.path);
        assert!(!line.contains(|c: char| c.is_control() || c == ' '), "{line:?}");
    }
    let origins = list.origins.len().max(1) as u32;
    let of_each = list.lines_of_origins(origins as usize);
    assert!(
        of_each.iter().all(|lines| *lines > 0) && list.origins.first().is_none_or(|first| *first == target)
    );
    let plan = Plan { work: Work::List(list), threads: origins, connections: 64, ..Plan::closed(target) };
    plan.check().expect("it can be sent");
}

fn reads_back(target: &Target, list: &TargetList) {
    // What is shown of it reads back.
    let name = |list: &TargetList, line: usize| list.name(&list.requests[list.lines[line] as usize]);
    let shown: String = (0..list.lines.len()).map(|line| name(list, line) + "\n").collect();
    let known = list.origins.is_empty().then_some(target);
    let (_, again) = TargetList::parse(shown.as_bytes(), known, "GET", Order::InTurn)
        .unwrap_or_else(|e| panic!("{shown:?}: {e}"));
    assert_eq!((again.lines.len(), again.fingerprint()), (list.lines.len(), list.fingerprint()));
    sound(target.clone(), list.clone());
}
