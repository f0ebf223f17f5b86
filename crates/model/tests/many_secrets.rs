//! A process of its own: it fills what is looked for in texts.

use prony_model::secret::redacted;
use prony_model::{Secret, list, options::LoadOptions};

#[test]
fn of_a_lists_secrets_the_first_are_looked_for() {
    let lines = (0..100_000).map(|i| format!("GET /a\nX-Token: token-of-line-{i}-of-many\n"));
    let text = "POST /b\nX-Token: the-very-first\n@body\n".to_owned() + &lines.collect::<String>();
    let read = |path: &str, _: u64| {
        Ok(match path {
            "list" => text.clone().into_bytes(),
            "body" => b"{\"password\": \"of-a-lists-body\"}".to_vec(),
            _ => b"name,api_key\nopen-value,of-a-tables-cell\n".to_vec(),
        })
    };
    let target = prony_model::Target::parse("http://h/").unwrap();
    let values = LoadOptions {
        data: Some("cells".to_owned()),
        body: Some("{{api_key}}".to_owned()),
        ..LoadOptions::default()
    };
    values.plan(Some(target.clone()), &read).unwrap();
    let options = LoadOptions { targets: Some("list".to_owned()), ..LoadOptions::default() };
    let plan = options.plan(Some(target), &read).unwrap();
    assert_eq!(plan.work.list().map(|list: &list::TargetList| list.requests.len()), Some(100_001));
    for known in ["the-very-first", "of-a-lists-body", "of-a-tables-cell", "token-of-line-0-of-many"] {
        assert_eq!(redacted(&format!("'{known}'")), "'[redacted]'");
    }
    let late = "'token-of-line-99999-of-many' 'open-value'";
    assert_eq!(redacted(late), late, "each text would be searched for 100,000 values");
    // What is given beside a list is always known.
    Secret::of_header("X-Key", "of-a-header-alone").unwrap();
    assert_eq!(redacted("'of-a-header-alone'"), "'[redacted]'");
}
