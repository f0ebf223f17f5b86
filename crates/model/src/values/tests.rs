use super::*;
use crate::plan::Work;
use crate::secret::Secret;
use crate::target::Target;
use proptest::prelude::*;

fn values(generators: &[&str], csv: &str) -> Values {
    let generators = generators.iter().map(|one| Generator::parse(one).unwrap()).collect();
    let table = if csv.is_empty() { Table::default() } else { table("t.csv", csv.as_bytes()).unwrap() };
    Values { generators, table }
}

fn text(values: &Values, text: &str, place: Place, number: u64) -> String {
    let mut out = Vec::new();
    for (before, value) in values.split(text.as_bytes()) {
        out.extend_from_slice(before);
        if let Some(value) = value {
            values.write(value, place, 1, number, &mut out);
        }
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn each_kind_is_what_it_says() {
    let all = values(&["i=int:-5..5", "s=seq", "u=uuid", "c=choice:a|b/c|", "x=chars:16", "t=seq:100"], "");
    for number in 0..500 {
        let of = |name: &str| text(&all, &format!("{{{{{name}}}}}"), Place::Url, number);
        assert!((-5..=5).contains(&of("i").parse::<i64>().unwrap()));
        assert_eq!((of("s"), of("t")), ((number + 1).to_string(), (number + 100).to_string()));
        let uuid = of("u");
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        assert!(["a", "b%2Fc", ""].contains(&of("c").as_str()));
        assert!(of("x").len() == 16 && of("x").bytes().all(|b| b.is_ascii_alphanumeric()));
    }
    let extremes = values(&["i=int:-9223372036854775808..9223372036854775807"], "");
    assert!(text(&extremes, "{{i}}", Place::Text, 7).parse::<i64>().is_ok());
    // For ever: a recorded seed must mean the same values in every version.
    let pinned = values(&["i=int:1..1000", "x=chars:8"], "");
    assert_eq!(text(&pinned, "{{i}} {{x}}", Place::Text, 0), PINNED);
}

const PINNED: &str = "363 cTsyxJ3z";

#[test]
fn all_numbers_of_a_range_are_as_likely() {
    // 10 values in 10,000 requests: 1,000 each, ±5 standard deviations.
    let (all, mut seen) = (values(&["i=int:0..9"], ""), [0; 10]);
    (0..10_000)
        .for_each(|number| seen[text(&all, "{{i}}", Place::Text, number).parse::<usize>().unwrap()] += 1);
    assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
}

#[test]
fn values_are_written_for_their_place() {
    let all = values(&[], "name,note\r\nAnn \"A\" & Co,\"a\nb\"\r\nB,c\r\n");
    assert_eq!(
        text(&all, "/x?n={{name}}&o={{note}}", Place::Url, 0),
        "/x?n=Ann%20%22A%22%20%26%20Co&o=a%0Ab"
    );
    assert_eq!(
        text(&all, "{\"n\":{\"m\":\"{{name}}\"}}", Place::Json, 2),
        "{\"n\":{\"m\":\"Ann \\\"A\\\" & Co\"}}"
    );
    assert_eq!(text(&all, "{{note}}", Place::Json, 0), "a\\nb");
    assert_eq!(text(&all, "{{{name}}} {{ name }} {{#name}}", Place::Text, 1), "{B} {{ name }} {{#name}}");
}

fn plan(path: &str, values: Values) -> Plan {
    Plan { values, ..Plan::closed(Target::parse(&format!("http://h{path}")).unwrap()) }
}

#[test]
fn a_name_without_a_value_and_a_value_without_a_place_are_refused() {
    let id = || values(&["id=seq"], "");
    assert!(plan("/{{id}}", id()).check().is_ok());
    assert!(plan("/{{ide}}", Values::default()).check().is_ok(), "without values braces are text");
    let said = |plan: Plan| plan.check().unwrap_err().0;
    assert!(said(plan("/{{id}}/{{ide}}", id())).contains("{{ide}} stands in a request, and neither"));
    assert!(said(plan("/", id())).contains("{{id}} stands in no request"));
    assert!(said(plan("/{{a}}", values(&["a=seq", "a=uuid"], ""))).contains("Two values are called \"a\""));
    assert!(
        said(plan("/{{a}}", values(&["a=seq"], "b c\n1\n"))).contains("\"b c\" cannot be a value's name")
    );
    assert!(said(plan("/", values(&[], "a\n1\n"))).contains("No column of --data"));
    assert!(said(plan("/{{a}}", values(&[], "a\n"))).contains("no row"));
    let mut header = plan("/", values(&[], "a\n\"1\r\nX: 2\"\n"));
    header.headers = vec![("X".to_owned(), Secret::of_header("X", "{{a}}").unwrap())];
    assert!(said(header).contains("a control character"));
    let mut body = plan("/", id());
    (body.work, body.body) = (Work::Request("POST".to_owned()), b"{\"id\": {{id}}}".to_vec());
    assert!(body.check().is_ok());
}

#[test]
fn wrong_generators_and_tables_are_refused() {
    for (text, says) in [
        ("id", "write NAME=KIND"),
        ("i d=seq", "write NAME=KIND"),
        ("id=int", "it is none of int:LOW..HIGH"),
        ("id=int:5", "both ends included"),
        ("id=int:5..1", "the lower first"),
        ("id=int:1..99999999999999999999", "both ends"),
        ("id=chars:0", "give 1 to 4096"),
        ("id=chars:5000", "give 1 to 4096"),
        ("id=seq:-1", "the first number"),
        ("id=sequence", "it is none of"),
    ] {
        let said = Generator::parse(text).unwrap_err().0;
        assert!(said.contains(says), "{text}: {said}");
    }
    let said = |bytes: &[u8]| table("t.csv", bytes).unwrap_err().0;
    assert_eq!(said(b"a,b\n1,2\n3\n"), "--data t.csv, line 3: it has 1 values, and the lines before it 2.");
    assert!(said(b"a\n\xff\n").contains("not UTF-8"));
    let read = table("t.csv", b"\xef\xbb\xbfa, b\r\n\"x \"\"y\"\"\",2\r\n").unwrap();
    assert_eq!(
        (read.columns, read.cells),
        (vec!["a".into(), "b".into()], vec!["x \"y\"".into(), "2".to_owned()])
    );
}

#[test]
fn what_may_be_secret_of_a_generator_is_not_shown() {
    let shown = |text: &str| Generator::parse(text).unwrap().shown();
    assert_eq!(shown("token=choice:s3cret-a|s3cret-b"), "token=choice:[redacted]");
    assert_eq!(shown("key=int:1..9"), "key=int:1..9", "nobody wrote what it will be");
    assert_eq!(shown("session=chars:16"), "session=chars:16");
    assert_eq!(shown("id=choice:a|b"), "id=choice:a|b");
}

proptest! {
    #[test]
    fn any_text_is_split_into_all_of_itself(bytes in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), Just(b'a'), any::<u8>()], 0..60)) {
        let all = values(&["a=seq"], "");
        let pieces = all.split(&bytes);
        let (last, before) = pieces.split_last().unwrap();
        let mut whole: Vec<u8> = before.iter().flat_map(|(text, _)| [text, &b"{{a}}"[..]].concat()).collect();
        whole.extend_from_slice(last.0);
        prop_assert_eq!(whole, bytes);
    }

    #[test]
    fn any_words_are_a_generator_or_a_sentence(text in "(id=)?(int|seq|uuid|choice|chars)?:?[-0-9.|a]{0,8}") {
        if let Err(why) = Generator::parse(&text) {
            prop_assert!(why.0.ends_with('.'), "{}", why);
        }
    }
}
