//! The data and the shell; what the script makes of them is tested in web/.

use serde_json::Value;

use super::shell::App;
use super::*;
use crate::fixtures;

const APP: App<'_> = App { script: "run()", style: "p{}", hash: "aGFzaA==" };

fn file(log: &RunLog) -> String {
    let (data, chunks) = assemble::page(log);
    APP.file(&data.head.headline, &serde_json::to_string(&data).unwrap(), &chunks)
}

fn element<'a>(page: &'a str, id: &str) -> &'a str {
    page.split_once(&format!("id=\"{id}\">")).unwrap().1.split_once("</script>").unwrap().0
}

fn unpacked(page: &str, id: &str) -> Value {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(element(page, id)).unwrap();
    serde_json::from_reader(flate2::read::ZlibDecoder::new(bytes.as_slice())).unwrap()
}

fn data(page: &str) -> Value {
    serde_json::from_str(element(page, "data")).unwrap()
}

#[test]
fn a_page_loads_nothing_and_runs_one_script() {
    let page = file(&fixtures::run());
    assert!(page.contains("default-src 'none'; script-src 'sha256-aGFzaA=='; style-src 'unsafe-inline'"));
    assert!(page.contains("<script>run()</script>"), "its hash is of exactly this");
    for load in ["src=", "href=\"http", "href=\"//", "url(", "@import", "connect-src"] {
        assert!(!page.contains(load), "the page has {load}");
    }
    assert!(APP.live("t", "{}").contains("connect-src 'self'"));
}

#[test]
fn labels_stay_text() {
    let page = file(&fixtures::hostile_run());
    for tag in ["<b onmouseover", "<script>alert", "<img src", "\u{1b}", "\u{2028}"] {
        assert!(!page.contains(tag), "{tag:?} came through");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(page.matches("</script").count(), scripts, "no label ended a script");
    let data = data(&page);
    assert_eq!(data["candidates"][1]["label"], "<b onmouseover=\"x\">|`\n</script>\u{2028}\u{1b}[31m");
}

#[test]
fn every_figure_of_every_plan_is_ranked_with_every_ratio() {
    let page = file(&fixtures::run());
    let data = data(&page);
    assert_eq!(data["schema"], "prony.page/1");
    let rankings = data["rankings"].as_array().unwrap();
    assert_eq!(rankings.len(), 2 * 6, "two plans, six figures");
    for ranking in rankings {
        assert_eq!(ranking["rows"].as_array().unwrap().len(), 3);
    }
    // The fixture's second candidate carries twice the first's, in every block.
    let ratios = unpacked(&page, "r0");
    let over_first = &ratios["ratios"][0][1][0];
    assert!((over_first["point"].as_f64().unwrap() - 2.0).abs() < 1e-5, "{over_first}");
    assert!((ratios["ratios"][0][0][1]["point"].as_f64().unwrap() - 0.5).abs() < 1e-5);
    let best = &rankings[0]["rows"][0];
    assert_eq!((&best["candidate"], &best["rank"]), (&Value::from(2), &serde_json::json!([1, 1])));
    let quickest = &rankings[1]["rows"][0];
    assert_eq!(quickest["candidate"], 0, "of latency, less is better");
}

#[test]
fn a_trial_s_pictures_are_in_its_chunk_and_bounded() {
    let page = file(&fixtures::run());
    let data = data(&page);
    let trials = data["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 3 * 2 * 3);
    for trial in trials {
        let detail = unpacked(&page, &format!("t{}", trial["index"]));
        let picture = &detail["picture"];
        let points = picture["response_ns"].as_array().unwrap().len();
        assert!(points > 4 && points <= data["quantiles"].as_array().unwrap().len());
        assert_eq!(picture["series"]["at_ns"].as_array().unwrap().len(), 30);
        assert!(!picture["distribution"]["count"].as_array().unwrap().is_empty());
        assert!(detail["reproduce"].as_str().unwrap().starts_with("prony load http"));
    }
}

#[test]
fn trials_of_load_open_on_the_trial_and_say_how_to_make_it_again() {
    let mut log = fixtures::run();
    log.header.name = "load".into();
    log.results.truncate(1);
    let data = data(&file(&log));
    assert_eq!(data["experiment"], false);
    assert_eq!(data["rankings"].as_array().unwrap().len(), 0);
    assert!(data["head"]["headline"].as_str().unwrap().contains("req/s"));
    assert!(data["head"]["reproduce"].as_str().unwrap().starts_with("prony load http"));
}

#[test]
fn a_trial_without_a_measurement_is_listed_with_its_failure() {
    let mut log = fixtures::run();
    log.results[4].trial = None;
    log.results[4].failure = Some("it did not start".into());
    let page = file(&log);
    assert_eq!(data(&page)["trials"][4]["failure"], "it did not start");
    assert!(!page.contains("id=\"t4\""));
}

#[test]
fn an_empty_run_is_a_page_all_the_same() {
    let mut log = fixtures::run();
    log.results.clear();
    let data = data(&file(&log));
    assert_eq!(data["trials"].as_array().unwrap().len(), 0);
    log.header.plans.clear();
    log.header.order.clear();
    assert_eq!(self::data(&file(&log))["rankings"].as_array().unwrap().len(), 0);
}

#[test]
fn without_a_front_end_there_is_a_sentence() {
    assert!(NoPage.to_string().contains("make build") && NoPage.to_string().contains("--format"));
}
