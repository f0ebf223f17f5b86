use roxmltree::{Document, Node};

use super::*;
use crate::document;
use crate::fixtures;
use crate::terminal::{self, TerminalOptions};

fn body(analysis: &prony_analysis::experiment::ExperimentAnalysis) -> String {
    let (answer, details) = document::run(analysis);
    let servers = |label: &str| Some(format!("../servers/{}.html", label.len()));
    format!("<main>{}{}</main>", blocks(&answer, &servers), blocks(&details, &servers))
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|n| n.text().filter(|_| n.is_text())).collect()
}

#[test]
fn texts_from_outside_are_text_and_nothing_else() {
    let html = body(&fixtures::hostile());
    let document = Document::parse(&html).unwrap();
    let known = [
        "main",
        "h1",
        "h2",
        "h3",
        "p",
        "strong",
        "br",
        "ul",
        "li",
        "code",
        "pre",
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "a",
        "span",
        "figure",
        "figcaption",
        "svg",
        "title",
        "desc",
        "text",
        "path",
        "rect",
        "circle",
    ];
    for node in document.descendants().filter(Node::is_element) {
        assert!(known.contains(&node.tag_name().name()), "{node:?}");
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on") && attribute.name() != "style", "{attribute:?}");
        }
    }
    let shown = text(document.root_element());
    assert!(
        shown.contains("</title><script>alert(1)</script>") && shown.contains("<img src=x onerror=alert(1)>")
    );
    let head = Head { title: "</title><b>", description: "\"><b>", root: "../" };
    let page = page(&head, "");
    assert!(!page.contains("<b>") && page.contains("content=\"&quot;&gt;&lt;b&gt;\""), "{page}");
}

#[test]
fn a_table_has_the_terminals_figures() {
    let analysis = fixtures::experiment();
    let terminal =
        terminal::experiment(&analysis, &TerminalOptions { width: 200, ..TerminalOptions::default() });
    let html = body(&analysis);
    let document = Document::parse(&html).unwrap();
    let table = document.descendants().find(|n| n.has_tag_name("table")).unwrap();
    let rows: Vec<Vec<String>> = table
        .descendants()
        .filter(|n| n.has_tag_name("tr"))
        .map(|row| row.children().filter(Node::is_element).map(text).collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
    for row in &rows[1..] {
        let line = terminal
            .lines()
            .find(|line| line.contains(&row[column("req/s")]) && line.contains(&row[column("server")]));
        let line = line.unwrap();
        let line: Vec<&str> = line.split("  ").map(str::trim).collect();
        for name in ["rank", "req/s", "p99 ms", "CPU µs/req", "peak MB"] {
            assert!(
                line.iter().any(|cell| cell.ends_with(&row[column(name)])),
                "{name} of {row:?}: {line:?}"
            );
        }
    }
    assert_eq!(rows.len(), 10);
}

#[test]
fn tables_and_plots_have_words_for_those_who_do_not_see_them() {
    let html = body(&fixtures::with_published());
    let document = Document::parse(&html).unwrap();
    let all = |name: &'static str| document.descendants().filter(move |n| n.has_tag_name(name));
    assert!(all("table").count() >= 2 && all("svg").count() >= 2);
    for table in all("table") {
        let caption = table.children().find(Node::is_element).unwrap();
        assert!(caption.has_tag_name("caption") && !text(caption).is_empty());
        let region = table.parent_element().unwrap();
        assert_eq!((region.attribute("role"), region.attribute("tabindex")), (Some("region"), Some("0")));
        for row in table.descendants().filter(|n| n.has_tag_name("tr")) {
            let scopes = row.children().filter(|n| n.has_tag_name("th")).map(|n| n.attribute("scope"));
            assert!(scopes.clone().count() > 0 && scopes.clone().all(|scope| scope.is_some()));
        }
        assert!(table.descendants().filter(|n| n.has_tag_name("th")).all(|n| !text(n).is_empty()));
    }
    for svg in all("svg") {
        assert_eq!(svg.attribute("role"), Some("img"));
        assert!(svg.attribute("aria-label").is_some_and(|label| label.len() > 20));
        assert!(svg.first_element_child().unwrap().has_tag_name("title"));
    }
}
