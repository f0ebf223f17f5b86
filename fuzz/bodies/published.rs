//! Any text as a published comparison, and as a claim of one: figures and claims that can be judged, or a sentence.

use prony_lab::experiment::parse_published;

/// Reads the text as a file, and as the claim of a conclusion.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    read(text);
    if !text.contains("'''") {
        let head = "schema = \"prony.published/1\"\nsource = \"S\"\nmethod = \"M\"\n";
        read(&format!("{head}[[conclusion]]\ntext = \"t\"\nclaim = '''{text}'''\n"));
    }
}

fn read(text: &str) {
    match parse_published("p.toml", text) {
        Ok(published) => {
            assert!(!published.source.trim().is_empty() && !published.method.trim().is_empty());
            for row in &published.rows {
                assert!(!row.name.trim().is_empty() && !row.candidate.trim().is_empty());
                assert!(row.connections != Some(0));
                let figures = row.figures.values().copied().chain(row.rate_per_s);
                assert!(figures.into_iter().all(|figure| figure.is_finite() && figure >= 0.0), "{row:?}");
            }
            for conclusion in &published.conclusions {
                assert!(!conclusion.text.trim().is_empty());
                assert!(conclusion.claim.trim().is_empty() == conclusion.unjudged.is_some());
                assert!(!conclusion.at.connections.contains(&0));
            }
        }
        Err(e) => {
            let said = e.to_string();
            assert!((1..=text.lines().count().max(1) + 1).contains(&e.line()), "{said}");
            assert!(said.contains(' ') && !said.contains(['\n', '\r']), "{said:?} is no sentence");
        }
    }
}
