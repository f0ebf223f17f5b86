use std::collections::BTreeSet;

use prony_analysis::claim::{Claim, relabelled};
use prony_model::plan::Stop;
use prony_model::published::{At, AtRate, By, Conclusion, PublishedRow};
use prony_model::rate::Rate;

use super::*;
use crate::candidate::Candidate;
use crate::catalogue::Catalogue;

const HEAD: &str = "schema = \"prony.experiment/1\"\ncandidates = [\"a\", \"b:jit\"]\n";

pub(super) fn read(rest: &str) -> Result<Experiment, TomlError> {
    Experiment::parse("x", "x.toml", &format!("{HEAD}{rest}"))
}

pub(super) fn said(rest: &str) -> String {
    read(rest).unwrap_err().to_string()
}

pub(super) fn described(plan: &ExperimentPlan) -> String {
    plan.named(&plan.load).describe
}

pub(super) fn names(experiment: &Experiment) -> Vec<&str> {
    experiment.plans.iter().map(|p| p.name.as_str()).collect()
}

#[test]
fn every_embedded_experiment_is_right() {
    let names = Experiment::names();
    assert!(names.contains(&"quickstart"), "{names:?}");
    for name in names {
        Experiment::find(name).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn quickstart_is_read_as_written() {
    let e = Experiment::find("quickstart").unwrap();
    assert_eq!((e.baseline.as_deref(), e.seed, e.server_cores), (Some("nginx-fpm"), 1, 1));
    assert_eq!(e.budget, Some(Duration::from_secs(480)));
    assert_eq!((e.blocks, e.workers), (Blocks { min: 5, max: 5 }, WorkerPolicy::Fixed(1)));
    assert_eq!(names(&e), ["c50"]);
    let load = &e.plans[0].load;
    assert_eq!((load.stop.duration, load.warmup), (Some(Duration::from_secs(6)), Duration::from_secs(1)));
    assert_eq!(described(&e.plans[0]), "50 connections, closed loop, GET /, 6s after 1s warm-up");
}

#[test]
fn defaults_of_a_plan_are_those_of_prony_load() {
    let e = read("").unwrap();
    assert_eq!(e.plans, [ExperimentPlan::of(Plan::closed(Target::parse("http://127.0.0.1/").unwrap()))]);
    assert_eq!((e.plans[0].load.connections, e.plans[0].load.warmup), (50, Duration::from_secs(1)));
    let e = read("[[plan]]\nrate = 500\nduration = 60\n").unwrap();
    assert_eq!((e.plans[0].load.connections, e.plans[0].load.warmup), (100, Duration::from_secs(3)));
    assert_eq!(names(&e), ["c100-r500"]);
}

#[test]
fn lists_in_a_plan_become_the_product_of_their_values() {
    let e = read("[[plan]]\nconnections = [1, 10]\nrate = [\"1k\", 2.5]\n").unwrap();
    assert_eq!(names(&e), ["c1-r1000", "c10-r1000", "c1-r2.5", "c10-r2.5"]);
    let e = read("[[plan]]\nname = \"knee\"\nconnections = [1, 10]\nrate = \"1k\"\n").unwrap();
    assert_eq!(names(&e), ["knee-c1", "knee-c10"]);
    let e = read("[load]\nconnections = [5, 6]\n[[plan]]\nname = \"only\"\nconnections = 5\n").unwrap();
    assert_eq!(names(&e), ["only"]);
}

#[test]
fn a_plan_overrides_the_load() {
    let e =
        read("[load]\nduration = \"3s\"\nkeepalive = false\n[[plan]]\nduration = \"1m\"\ntimeout = \"2s\"\n")
            .unwrap();
    let plan = e.plans[0].aimed(Target::parse("http://h/").unwrap(), Expect::default(), &[2], 9);
    assert_eq!(plan.stop.duration, Some(Duration::from_secs(60)));
    assert_eq!((plan.keepalive, plan.timeout, plan.seed), (false, Duration::from_secs(2), 9));
    assert_eq!(plan.cpus, [2]);
    assert_eq!(plan.check(), Ok(()));
}

#[test]
fn a_scale_shortens_durations_and_blocks_and_selects_plans() {
    let e = read(
        "[[plan]]\nname = \"knee\"\nconnections = [1, 2]\n[[plan]]\nname = \"other\"\n\
         [scale.short]\nduration = \"1s\"\nwarmup = 0\nblocks = 2\nonly = [\"knee\"]\n",
    )
    .unwrap();
    let short = e.scaled("short").unwrap();
    assert_eq!(names(&short), ["knee-c1", "knee-c2"]);
    assert_eq!(short.blocks, Blocks { min: 2, max: 2 });
    assert!(short.plans.iter().all(|p| p.load_time() == Duration::from_secs(1)));
    assert!(e.scaled("shrot").unwrap_err().contains("did you mean \"short\""));
    assert!(said("[[plan]]\nname = \"knee\"\n[scale.short]\nonly = [\"kne\"]\n").contains("knee"));
}

#[test]
fn blocks_may_be_a_range() {
    assert_eq!(read("blocks = { min = 6, max = 12 }").unwrap().blocks, Blocks { min: 6, max: 12 });
    assert!(said("blocks = { min = 6, max = 3 }").contains("swap"));
    assert!(said("blocks = 0").contains("from 1 to"));
    assert!(said("blocks = -1").starts_with("x.toml:3:"));
    assert!(said("blocks = 5000000").contains("from 1 to"));
}

#[test]
fn contradictory_or_impossible_settings_are_refused_by_line() {
    for (rest, line, words) in [
        ("baseline = \"b\"", 3, "did you mean \"b:jit\""),
        ("\nserver_host = \"big\"", 4, "\"server_host\" names no host"),
        ("\nserver_cores = 0", 4, "\"server_cores\" is 0"),
        ("workers = 0", 3, "\"workers\" is 0"),
        ("workers = \"server_core\"", 3, "did you mean \"server_cores\""),
        ("budget = 0", 3, "allows no trial"),
        ("route = \"xml\"", 3, "json"),
        ("route = \"echo\"", 3, "checked but not loaded"),
        ("route = \"db\"", 3, "write it in [load] or a [[plan]]"),
        ("[[plan]]\nroute = \"echo\"", 4, "cannot be loaded"),
        ("[[plan]]\nroute = \"db\"", 3, "write [service.db] with service = \"contract\""),
        ("[[plan]]\nroute = \"echo-json\"\nbody = \"x\"", 4, "remove \"method\" and \"body\""),
        ("sead = 1", 3, "did you mean \"seed\""),
        ("[[plan]]\nconnections = 0", 4, "0 connections can carry"),
        ("[[plan]]\nconnections = []", 4, "empty list"),
        ("[[plan]]\nconnections = 5000000", 4, "more than one client can hold"),
        ("[[plan]]\nduration = \"0s\"", 4, "A window of 0 s"),
        ("[[plan]]\nduration = \"48h\"", 4, "a day"),
        ("[[plan]]\nrate = 0", 4, "is out of range"),
        ("[[plan]]\nrate = [\"5k\", \"fast\"]", 4, "not a rate"),
        ("[load]\nconnections = 0", 4, "0 connections can carry"),
        ("[load]\ntimeout = 0\n[[plan]]\nthreads = 2", 4, "A timeout of 0 s"),
        ("[scale.short]\nduration = 0", 4, "A window of 0 s"),
        ("[[plan]]\nthreads = 60\n", 4, "60 threads cannot share 50"),
        ("[[plan]]\nname = \"a b\"", 4, "cannot be a plan's name"),
        ("[load]\nname = \"x\"", 4, "defaults of all plans"),
        ("[[plan]]\n[[plan]]\n", 4, "two plans are called \"c50\""),
    ] {
        let said = said(rest);
        assert!(said.starts_with(&format!("x.toml:{line}: ")) && said.contains(words), "{rest:?}: {said}");
    }
}

#[test]
fn own_checks_replace_the_contract_and_its_routes() {
    let text = "schema = \"prony.experiment/1\"\ncandidates = [\"a\"]\n[[check]]\nrequest = \"POST /login\"\n\
                send = \"x\"\nstatus = 204\n[[check]]\nrequest = \"GET /items\"\njson = { \"$.items[0].id\" = 7 }\n";
    let e = Experiment::parse("x", "x.toml", text).unwrap();
    let loaded: Vec<bool> = e.checks.iter().map(CustomCheck::is_loadable).collect();
    assert_eq!(loaded, [false, true]);
    for (rest, line, words) in [
        ("[[check]]\nx = 1", 4, "request"),
        ("[[check]]\nrequest = \"items\"", 4, "not a method and a path"),
        ("[[check]]\nrequest = \"/\"\njson = { a = 1 }", 5, "does not begin with $"),
        ("[[check]]\nrequest = \"POST /\"", 3, "no [[check]] is a GET"),
        ("route = \"json\"\n[[check]]\nrequest = \"/\"", 3, "replaces the contract"),
    ] {
        let said = said(rest);
        assert!(said.starts_with(&format!("x.toml:{line}: ")) && said.contains(words), "{rest:?}: {said}");
    }
}

#[test]
fn the_number_of_workers_may_come_from_the_published_source() {
    assert!(said("workers = \"source\"").contains("needs a \"published\""));
    let text = "schema = \"prony.experiment/1\"\ncandidates = [\"a\"]\nworkers = \"source\"\npublished = \"p.toml\"\n";
    let mut e = Experiment::parse("x", "x.toml", text).unwrap();
    assert_eq!(e.workers_of(None, "a"), None, "not read yet");
    let published = "schema = \"prony.published/1\"\nsource = \"S\"\nmethod = \"M\"\n[[row]]\nname = \"A\"\ncandidate = \"a\"\n\
                     workers = 4\n";
    e.published = Some(published::parse("p.toml", published).unwrap());
    assert_eq!((e.workers_of(None, "a"), e.workers_of(None, "b")), (Some(4), None));
    (e.workers, e.server_cores) = (WorkerPolicy::ServerCores, 3);
    assert_eq!(e.workers_of(None, "b"), Some(3));
}

#[test]
fn an_experiment_needs_candidates_each_named_once() {
    let parse = |list: &str| {
        let text = format!("schema = \"prony.experiment/1\"\ncandidates = {list}\n");
        Experiment::parse("x", "x.toml", &text).unwrap_err().to_string()
    };
    assert!(parse("[]").contains("is empty"));
    assert!(parse("[\"a\", \"a\"]").contains("named twice"));
    assert!(parse("[\" \"]").contains("empty"));
    let other = Experiment::parse("x", "x.toml", "schema = \"prony.experiment/2\"\ncandidates = [\"a\"]\n");
    assert!(other.unwrap_err().to_string().contains("prony.experiment/1"));
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let said = Experiment::find("quickstrat").unwrap_err();
    assert!(said.contains("did you mean \"quickstart\""), "{said}");
    let said = Experiment::find("./nowhere.toml").unwrap_err();
    assert!(said.contains("./nowhere.toml cannot be read"), "{said}");
}

#[test]
fn a_plan_says_in_which_order_its_list_is_requested() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "http://127.0.0.1/a\nhttp://127.0.0.1/b\n").unwrap();
    for (shuffle, said) in [("", "2 requests in turn"), ("\nshuffle = true", "2 requests, shuffled")] {
        let e = read(&format!("[[plan]]\ntargets = {:?}{shuffle}\n", file.path())).unwrap();
        assert!(described(&e.plans[0]).contains(said), "{}", described(&e.plans[0]));
    }
}

#[test]
fn devices_are_no_experiments_and_no_files_of_a_plan() {
    let said = Experiment::find("/dev/zero").unwrap_err();
    assert!(said.contains("/dev/zero cannot be read") && said.contains("not a regular file"), "{said}");
    let said = self::said("[[plan]]\ntargets = \"/dev/zero\"");
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn a_plan_may_have_stages_and_every_other_load_option() {
    let e = read(
        "[[plan]]\nname = \"ramp\"\nstages = [\"60s:5000c\", \"60s:5000c\"]\n\
         [[plan]]\nrate = \"1k\"\narrivals = \"poisson\"\n[[plan]]\nname = \"post\"\nbody = \"x\"\n\
         headers = { A = \"b\" }\npipeline = 4\nrequests = 100\n",
    )
    .unwrap();
    assert_eq!(names(&e), ["ramp", "c100-r1000", "post"]);
    let ramp = &e.plans[0].load;
    assert_eq!(
        (ramp.connections, ramp.stop.duration, ramp.warmup),
        (5000, Some(Duration::from_secs(120)), Duration::ZERO)
    );
    assert_eq!(described(&e.plans[0]), "5,000 connections, stages 1m:5000c 1m:5000c, GET /, 2m");
    assert_eq!(described(&e.plans[1]), "100 connections, Poisson 1,000/s, GET /, 10s after 1s warm-up");
    let post = &e.plans[2].load;
    assert_eq!((post.work.method(), post.body.as_slice(), post.pipeline), ("POST", &b"x"[..], 4));
    assert_eq!(post.headers, [("A".to_owned(), prony_model::Secret::of_header("A", "b").unwrap())]);
    assert_eq!(post.stop, Stop { duration: None, requests: Some(100) });
}

#[test]
fn a_shorter_scale_keeps_the_proportions_of_stages() {
    let e =
        read("[[plan]]\nstages = [\"60s:5000c\", \"30s:0c\"]\n[scale.short]\nduration = \"9s\"\n").unwrap();
    let short = e.scaled("short").unwrap();
    let stages: Vec<u64> =
        short.plans[0].load.arrivals.stages().unwrap().iter().map(|s| s.duration.as_secs()).collect();
    assert_eq!(
        (stages.as_slice(), short.plans[0].load.stop.duration),
        (&[6, 3][..], Some(Duration::from_secs(9)))
    );
}

#[test]
fn a_scale_leaves_a_plan_of_a_count_of_requests_as_it_is() {
    let e = read(
        "[[plan]]\nrequests = 10000\n[[plan]]\nname = \"b\"\nrequests = 500\nduration = \"9s\"\n\
         [scale.short]\nduration = \"3s\"\nwarmup = \"500ms\"\n",
    );
    let short = e.unwrap().scaled("short").unwrap();
    let loads: Vec<_> =
        short.plans.iter().map(|plan| (plan.load.stop.duration, plan.load.warmup.as_millis())).collect();
    assert_eq!(loads, [(None, 0), (Some(Duration::from_secs(3)), 500)]);
}

#[test]
fn a_plan_may_have_workers_of_its_own() {
    let text = "workers = 2\n[[plan]]\nname = \"a\"\n[[plan]]\nname = \"b\"\nworkers = 4\n";
    let e = read(text).unwrap();
    let under: Vec<Option<u32>> = e.plans.iter().map(|plan| e.workers_of(Some(plan), "x")).collect();
    assert_eq!(under, [Some(2), Some(4)]);
    assert!(described(&e.plans[1]).ends_with(", workers: 4"), "{}", described(&e.plans[1]));
    let unpublished = "[[plan]]\nworkers = \"source\"\n";
    assert!(said(unpublished).starts_with("x.toml:4: workers = \"source\" needs"), "{}", said(unpublished));
    // Where the source does not say, the experiment's rule is left.
    let mut source = Experiment::find("fast-and-furious-2023").unwrap();
    source.workers = WorkerPolicy::Fixed(1);
    let as_made = source.plans.iter().find(|plan| plan.name == "as-made-c100").unwrap();
    let workers = ["workerman", "php-pm", "nginx-fpm"].map(|label| source.workers_of(Some(as_made), label));
    assert_eq!(workers, [Some(4), Some(8), Some(1)]);
    // A forecast takes 10,000 requests for as long as they took there, where that is printed: 10,000 / 428 s.
    let plan = |name: &str| source.plans.iter().find(|plan| plan.name == name).unwrap();
    let seconds = |name: &str, label: &str| source.load_time(plan(name), label).as_secs_f64();
    assert!((seconds("as-made-c100", "php-server") - 23.36).abs() < 0.01);
    assert!((seconds("as-made-c100", "frankenphp") - 10.0).abs() < 0.01, "as the usual window");
    assert!((seconds("c100", "php-server") - 12.0).abs() < 0.01);
}

#[test]
fn a_longer_scale_leaves_the_probes_of_a_search_as_they_are() {
    let e = read(
        "[load]\nduration = \"2s\"\n[[plan]]\n[[plan]]\nname = \"knee\"\ncapacity = \"p99<50ms\"\n\
         [scale.full]\nduration = \"30s\"\n[scale.short]\nduration = \"1s\"\n",
    );
    let durations = |scale: &str| {
        let scaled = e.as_ref().unwrap().scaled(scale).unwrap();
        scaled.plans.iter().map(|plan| plan.load.stop.duration.unwrap().as_secs()).collect::<Vec<_>>()
    };
    assert_eq!((durations("full"), durations("short")), (vec![30, 2], vec![1, 1]));
}

#[test]
fn impossible_stages_arrivals_and_paths_are_refused() {
    for (rest, line, words) in [
        ("[[plan]]\nstages = []", 4, "load nothing"),
        ("[[plan]]\nstages = [\"5s:1c\"]\nduration = \"5s\"", 5, "cannot be used with"),
        ("[[plan]]\nstages = [\"5s\"]", 4, "no colon"),
        ("[[plan]]\nstages = [\"5s:1c\", \"5s:1/s\"]", 4, "some of connections"),
        ("[[plan]]\narrivals = \"poisson\"", 4, "poisson arrivals need a rate"),
        ("[[plan]]\nrate = 5\narrivals = \"bursts\"", 5, "not a kind of arrivals"),
        ("[[plan]]\npipeline = 4\nkeepalive = false", 5, "serves 1 request"),
        ("[[plan]]\nshuffle = true", 4, "--targets"),
        ("[[plan]]\ncacert = \"ca.pem\"", 4, "https://"),
        ("[[plan]]\ntargets = \"no/such/list\"", 4, "could not be read"),
        ("[[plan]]\nheaders = { X-Session = \"s3\" }", 4, "write \"@env:NAME\""),
        ("[[plan]]\nbody = '{\"password\":\"s3\"}'", 4, "secret by its name"),
        ("[[plan]]\nexpect_json = [\"/token=s3\"]", 4, "write @env:NAME behind its ="),
        ("[[plan]]\nform = [\"token=s3\"]", 4, "write @env:NAME behind its ="),
        ("[[plan]]\nform_urlencoded = [\"pwd=s3\"]", 4, "write @env:NAME behind its ="),
        ("[[plan]]\ngenerate = [\"key=choice:s3|s4\"]", 4, "a column of the file of \"data\""),
        ("[[plan]]\ngenerate = [\"key=int:1..9\"]", 4, "{{key}} stands in no request"),
        ("[[plan]]\nform = [\"token=@no-such-file\"]", 4, "could not be read"),
        ("[[plan]]\nexpect_json = [\"id=17\"]", 4, "not a JSON pointer"),
        ("[[plan]]\nexpect_body = \"a\"\nexpect_json = [\"/id=17\"]", 4, "cannot be used together"),
        ("[[plan]]\nexpect_body = \"token=s3\"", 4, "write \"@FILE\" or \"@env:NAME\""),
        ("published = \"../secret.toml\"", 3, "beside this one"),
        ("published = \"/etc/passwd.toml\"", 3, "beside this one"),
    ] {
        let said = said(rest);
        assert!(said.starts_with(&format!("x.toml:{line}: ")) && said.contains(words), "{rest:?}: {said}");
    }
}

#[test]
fn every_source_is_read_with_its_rows_and_conclusions() {
    for (name, rows, conclusions) in [
        ("aerys-2017", 8, 21),
        ("app-servers-2018", 12, 7),
        ("reactphp-ramp-2019", 1, 9),
        ("php8-jit-2020", 32, 4),
        ("fast-and-furious-2023", 52, 24),
    ] {
        let experiment = Experiment::find(name).unwrap_or_else(|e| panic!("{e}"));
        let published = experiment.published.as_ref().unwrap();
        assert_eq!((published.rows.len(), published.conclusions.len()), (rows, conclusions), "{name}");
        assert!(published.differences.len() >= 4, "{name} says too little of its method");
        for row in &published.rows {
            assert!(experiment.candidates.contains(&row.candidate), "{name} lacks {}", row.candidate);
            let at = |plan: &ExperimentPlan| {
                row.connections.is_none_or(|c| c == plan.load.connections)
                    && (row.rate_per_s.is_none()
                        || row.rate_per_s == plan.load.arrivals.rate().map(Rate::as_per_s))
            };
            assert!(experiment.plans.iter().any(at), "{name} lacks a plan for {row:?}");
        }
        let short = experiment.scaled("short").unwrap_or_else(|e| panic!("{e}"));
        // What the source printed has its place in the short form too.
        let has_place = |row: &PublishedRow| {
            short.plans.iter().any(|plan| {
                row.connections.is_none_or(|c| c == plan.load.connections)
                    && (row.rate_per_s.is_none()
                        || row.rate_per_s == plan.load.arrivals.rate().map(Rate::as_per_s))
            })
        };
        assert!(published.rows.iter().any(has_place), "{name} at its short scale has no published row");
    }
}

#[test]
fn a_source_that_concludes_nothing_has_readings_alone() {
    let of = |name: &str| Experiment::find(name).unwrap().published.unwrap();
    assert!(of("app-servers-2018").conclusions.iter().all(|one| one.by != By::Source));
    let rows = of("php8-jit-2020").rows;
    for row in &rows {
        let [p9999, p99999, max] = ["p9999_ms", "p99999_ms", "max_ms"].map(|name| row.figure(name).unwrap());
        assert!(p9999 <= p99999 && p99999 <= max, "{row:?}");
        assert!(row.figure("per_second_max") >= row.figure("per_second_mean"), "{row:?}");
    }
    assert_eq!((rows[0].figure("p99999_ms"), rows[31].figure("p99999_ms")), (Some(7.25), Some(85.89)));
}

#[test]
fn labels_in_every_published_source_are_those_of_the_run() {
    let catalogue = Catalogue::load(&[]);
    for name in Experiment::names() {
        let written = Experiment::find(name).unwrap();
        let run = written.with_canonical_labels(&catalogue);
        let labels: BTreeSet<String> = written
            .candidates
            .iter()
            .map(|c| Candidate::parse(c, &catalogue).unwrap_or_else(|e| panic!("{e}")).label().to_owned())
            .collect();
        let is_known = |label: &str| assert!(labels.contains(label), "{name}: {label} is in no run");
        run.plans.iter().filter_map(|p| p.share.as_ref()).for_each(|share| is_known(&share.of.candidate));
        let Some(published) = &run.published else { continue };
        published.rows.iter().for_each(|row| is_known(&row.candidate));
        for conclusion in &published.conclusions {
            let is_claim = Claim::parse(&conclusion.claim).is_ok();
            assert!(is_claim != conclusion.unjudged.is_some(), "{}", conclusion.claim);
            relabelled(&conclusion.claim, |label| {
                is_known(label);
                label.to_owned()
            });
            for rate in &conclusion.at.rates {
                if let AtRate::Share { of, .. } = rate {
                    is_known(&of.candidate);
                }
            }
        }
    }
}

#[test]
fn a_label_with_a_default_value_becomes_the_label_without() {
    let source =
        prony_model::published::CapacityOf { candidate: "cowboy:v2".to_owned(), plan: "knee".to_owned() };
    let mut e = read("[[plan]]\nname = \"knee\"\ncapacity = \"default\"\n").unwrap();
    e.plans[0].share = Some(ShareOf { share: 0.5, of: source.clone() });
    e.workers = WorkerPolicy::Source;
    e.published = Some(Published {
        rows: vec![PublishedRow {
            name: "cowboy2".to_owned(),
            candidate: "cowboy:v2".to_owned(),
            workers: Some(4),
            ..PublishedRow::default()
        }],
        conclusions: vec![Conclusion {
            text: "cowboy:v2 is slower".to_owned(),
            claim: "throughput(cowboy:v2) < throughput(amphp:close+jit+native)".to_owned(),
            at: At { rates: vec![AtRate::Share { share: 0.5, of: source }], ..At::default() },
            ..Conclusion::default()
        }],
        ..Published::default()
    });
    let run = e.with_canonical_labels(&Catalogue::load(&[]));
    assert_eq!((e.workers_of(None, "cowboy"), run.workers_of(None, "cowboy")), (None, Some(4)));
    assert_eq!(run.plans[0].share.as_ref().unwrap().of.candidate, "cowboy");
    let published = run.published.unwrap();
    assert_eq!(
        (published.rows[0].name.as_str(), published.rows[0].candidate.as_str()),
        ("cowboy2", "cowboy")
    );
    let conclusion = &published.conclusions[0];
    assert_eq!(conclusion.claim, "throughput(cowboy) < throughput(amphp:jit+close)");
    assert_eq!(conclusion.text, "cowboy:v2 is slower");
    let [AtRate::Share { of, .. }] = &conclusion.at.rates[..] else { panic!("{conclusion:?}") };
    assert_eq!(of.candidate, "cowboy");
}
