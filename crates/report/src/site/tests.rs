use std::path::Path;

use super::*;

/// Logs that the analysis' own tests read: an experiment, single loads, a search.
fn logs() -> Vec<PathBuf> {
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/pinned");
    ["bench.jsonl", "loads.jsonl", "capacity.jsonl"].map(|name| pinned.join(name)).into()
}

fn published(given: Vec<PathBuf>) -> (Published, BTreeMap<String, String>) {
    let files = Mutex::new(BTreeMap::new());
    let write = |path: &str, text: &str| {
        let before = files.lock().unwrap().insert(path.to_owned(), text.to_owned());
        assert_eq!(before, None, "{path} is written twice");
        Ok(())
    };
    let published = publish(&RunIndex::new(given.into_iter()), &write).unwrap();
    (published, files.into_inner().unwrap())
}

#[test]
fn every_link_of_the_site_leads_to_a_page_of_it() {
    let (said, files) = published(logs());
    assert_eq!((said.runs, said.left_out.len()), (3, 0));
    let pages: Vec<&String> = files.keys().filter(|path| path.ends_with(".html")).collect();
    assert_eq!(pages.len(), 1 + said.runs + said.experiments + said.servers);
    for page in pages {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let links = files[page].split("href=\"").skip(1).chain(files[page].split("src=\"").skip(1));
        let mut links: Vec<&str> = links.map(|rest| rest.split('"').next().unwrap()).collect();
        links.retain(|link| !link.starts_with("data:"));
        assert!(links.len() > 5, "{page}");
        for link in links {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let whole = match path.strip_prefix("../") {
                Some(rest) => rest.to_owned(),
                None if path.is_empty() => page.clone(),
                None => Path::new(folder).join(path).display().to_string(),
            };
            let target = files.get(&whole).unwrap_or_else(|| panic!("{page} links to {link}"));
            assert!(place.is_empty() || target.contains(&format!("id=\"{place}\"")), "{page}: {link}");
        }
    }
}

#[test]
fn pages_load_nothing_from_elsewhere_and_are_whole_without_script() {
    let (_, files) = published(logs());
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        assert!(text.contains("default-src 'none'; style-src 'self'; script-src 'self'"), "{path}");
        assert!(
            !text.contains("src=\"http") && !text.contains("<link rel=\"stylesheet\" href=\"http"),
            "{path}"
        );
        assert_eq!(text.matches("<script").count(), 1, "{path}");
        assert!(text.contains("<h1>") && text.contains("<caption>"), "{path}");
    }
    assert!(files["runs/bench.html"].contains("<svg class=\"plot\""));
    assert!(files["runs/loads.html"].contains("Response time by percentile"));
    for data in ["data/runs.json", "data/runs/bench.json"] {
        serde_json::from_str::<serde_json::Value>(&files[data]).unwrap();
    }
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".csv")) {
        let commas = |line: &str| line.split('"').step_by(2).collect::<String>().matches(',').count();
        let counts: BTreeSet<usize> = text.split_terminator("\r\n").map(commas).collect();
        assert_eq!(counts.len(), 1, "{path}: {text}");
    }
}

#[test]
fn a_log_that_cannot_be_read_is_named_and_nothing_is_a_site_of_none() {
    let missing = PathBuf::from("no-such.jsonl");
    let (said, files) = published([logs(), vec![missing.clone()]].concat());
    assert_eq!((said.runs, said.left_out.len()), (3, 1));
    assert!(
        files["index.html"].contains("no-such.jsonl") && files["data/runs.json"].contains("no-such.jsonl")
    );
    let refused = publish(&RunIndex::new([missing].into_iter()), &|_, _| panic!("nothing to write"));
    assert!(refused.unwrap_err().contains("no-such.jsonl"));
}

#[test]
fn what_cannot_be_written_ends_it() {
    let full = |path: &str, _: &str| {
        if path.starts_with("data/") { Err(format!("{path} could not be written.")) } else { Ok(()) }
    };
    let why = publish(&RunIndex::new(logs().into_iter()), &full).unwrap_err();
    assert!(why.starts_with("data/runs/") && why.ends_with("could not be written."), "{why}");
}

#[test]
fn pages_of_different_names_are_different_pages() {
    let names = ["a b", "a-b", "a/b", "../b", "..", "", "a", "A"].map(page_name);
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    for name in &names {
        assert!(!name.contains('/') && !name.starts_with('.') && !name.is_empty(), "{name}");
    }
    assert_eq!(page_name("nginx-fpm"), "nginx-fpm");
    assert_eq!(server_page("amphp:jit+ev"), "servers/amphp.html");
    assert!(page_name(&"x".repeat(5_000)).len() < 100);
}
