//! `prony servers`: recipes begun, refused, checked and written down.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::signals::program;
use crate::world::{BINARY, Said, World, interrupt};

/// The example of a page of the documentation whose text holds `mark`.
fn example(page: &str, mark: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(docs).unwrap();
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains(mark)).map(str::to_owned).next().expect("the docs have it")
}

fn write(world: &World, name: &str, recipe: &str) {
    let folder = world.path("recipes").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("server.toml"), recipe).unwrap();
}

/// A line of a record, as one of another day and recipe would have it.
fn earlier(line: &str) -> String {
    match line.split_once(" = ") {
        Some(("date", _)) => "date = \"2020-01-02\"".to_owned(),
        Some(("recipe", _)) => "recipe = \"0\"".to_owned(),
        _ => line.to_owned(),
    }
}

#[test]
fn an_own_application_of_the_docs_is_checked_and_recorded() {
    let world = World::new();
    write(&world, "shop", &example("adding-a-server.md", "title     = \"Our shop\""));
    let said = world.prony(&["servers", "check", "shop", "--servers", "recipes", "--record"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("1 passed, 0 failed, 0 skipped"), "{said:?}");
    let record = fs::read_to_string(world.path("recipes/shop/verified.toml")).unwrap();
    assert!(
        record.contains("candidate = \"shop\"") && record.contains("how = \"found on PATH\""),
        "{record}"
    );
    let takes = record.split_once("[verified.takes]").unwrap().1;
    assert!(takes.contains("processes = ") && takes.contains("idle_memory_bytes = "), "{record}");
    let json = world.prony(&["servers", "list", "--long", "--format", "json", "--servers", "recipes"]).out;
    let listed: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of = |name: &str| {
        listed.as_array().unwrap().iter().find(|one| one["server"] == name).unwrap()["takes"].clone()
    };
    assert!(of("shop")["idle_memory_bytes"].as_u64().unwrap() > 100_000, "{}", of("shop"));
    assert_eq!(of("shop")["measured"]["runtime"], "native");
    assert!(of("nginx-static")["configuration_lines"].as_u64().unwrap() > 10, "{}", of("nginx-static"));
    let long = world.prony(&["servers", "list", "--long", "--servers", "recipes"]).out;
    assert!(long.lines().next().unwrap().starts_with("server") && long.contains("config lines"), "{long}");
    let page = || world.prony(&["servers", "list", "--format", "markdown", "--servers", "recipes"]).out;
    let row = |page: &str| page.lines().find(|line| line.starts_with("| `shop`")).unwrap().to_owned();
    assert!(row(&page()).contains("| verified | version unknown | 1 of 1 | – |"), "{}", row(&page()));
    // So many servers, of all that there are.
    let count = |said: &str| -> u32 {
        let page = page();
        let before = page.split(said).next().and_then(|before| before.rsplit(' ').next());
        before.and_then(|number| number.parse().ok()).expect(&page)
    };
    let counts = || [count(" of them as the recipe is now"), count(" in an image of an earlier recipe")];
    let [current, built_before] = counts();
    // A Dockerfile changes nothing of what was run natively; what was run in an image of an earlier one has its date.
    fs::write(world.path("recipes/shop/Dockerfile"), "FROM debian:bookworm-slim\n").unwrap();
    let built =
        record.replace("\"native\"", "\"podman 4.3.1\"").split_once("[[verified]]").unwrap().1.to_owned();
    let image: String = built.lines().map(|line| format!("{}\n", earlier(line))).collect();
    fs::write(world.path("recipes/shop/verified.toml"), format!("{record}\n[[verified]]{image}")).unwrap();
    assert!(
        row(&page()).contains("| verified | version unknown | 1 of 1 | changed since 2020-01-02 |"),
        "{}",
        row(&page())
    );
    assert_eq!(counts(), [current, built_before + 1]);
    // A recipe that is not the one that was run says so.
    let text = fs::read_to_string(world.path("recipes/shop/server.toml")).unwrap();
    write(&world, "shop", &format!("{text}# changed\n"));
    assert!(row(&page()).contains("| changed since |"), "{}", row(&page()));
    assert_eq!(counts(), [current - 1, built_before + 1]);
    write(&world, "new", &text.replace("Our shop", "New"));
    assert!(page().lines().any(|line| line.starts_with("| `new`") && line.contains("**not run yet**")));
}

/// A recipe that says it has a route, and a server that has none of it: it fails by its name, not by its service's.
#[test]
fn a_route_that_needs_a_service_is_checked_beside_it() {
    let world = World::new();
    let recipe = format!(
        "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Rust\"\nkind = \"runtime\"\nroutes = [\"text\", \"upstream\"]\n\
         processes = \"single\"\nkeepalive = true\n[start]\ncommand = [\"{BINARY}\", \"target\", \"--port\", \"{{port}}\"]\n"
    );
    write(&world, "plain", &recipe);
    let said = world.prony(&["servers", "check", "plain", "--servers", "recipes"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("failed: GET /upstream: Status 404, expected 200."), "{said:?}");
    assert!(!said.out.contains("failed: GET /:"), "{said:?}");
}

#[test]
fn a_new_server_is_created_once_and_listed() {
    let world = World::new();
    let said = world.prony(&["servers", "new", "mine", "--from", "php-server"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("prony servers check mine"), "{said:?}");
    let list = world.prony(&["servers", "list"]);
    assert!(list.out.lines().any(|line| line.starts_with("mine ")), "{}", list.out);
    for (line, word) in [
        (["servers", "new", "mine"], "already"),
        (["servers", "new", "node-http"], "already"),
        (["servers", "new", "../mine"], "cannot be a server's name"),
    ] {
        let said = world.prony(&line);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(word), "{said:?}");
    }
}

#[test]
fn a_recipe_of_an_image_and_a_port_runs_only_in_containers() {
    let world = World::new();
    write(&world, "boxed", &example("containers.md", "image = \"registry.example/our/app:1.4\""));
    let said = world.prony(&["servers", "check", "boxed", "--servers", "recipes"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("a container engine for the image registry.example/our/app:1.4"), "{said:?}");
    assert!(said.out.contains("--runtime container"), "{said:?}");
    let said = world.prony(&["servers", "check", "boxed", "--servers", "recipes", "--memory", "much"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--memory \"much\" is not a size: write 512m or 2g."), "{said:?}");
    let said = world.prony(&["servers", "check", "boxed", "--servers", "recipes", "--memory", "1g"]);
    if prony_lab::sample::can_limit().is_ok() {
        assert_eq!(said.code, Some(3), "{said:?}");
    } else {
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("--memory needs a cgroup"), "{said:?}");
    }
    let said = world.prony(&["servers", "check", "boxed", "--servers", "recipes", "--runtime", "lxc"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("native, container, podman or docker"), "{said:?}");
}

#[test]
fn a_started_server_runs_until_ctrl_c_and_its_log_is_kept() {
    let world = World::new();
    write(&world, "shop", &example("adding-a-server.md", "title     = \"Our shop\""));
    let line = ["servers", "start", "shop", "--servers", "recipes"];
    let mut child = world.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    let url = first.strip_prefix("shop listens on ").expect(&first).to_owned();
    assert!(said.next().unwrap().unwrap().starts_with("  command  "));
    let loaded = world.prony(&["load", &format!("{url}server.toml"), "-n", "10", "-c", "1", "--warmup", "0"]);
    assert_eq!(loaded.code, Some(0), "it is loaded while it runs: {loaded:?}");
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(world.path(".prony/servers/shop/start.log").is_file());
    let script = world.prony(&[&line[..], &["--print", "--port", "8123"]].concat()).out;
    assert!(script.starts_with("#!/bin/sh\n# shop on http://127.0.0.1:8123/"), "{script}");
    assert_eq!(world.prony(&["servers", "start", "nosuch"]).code, Some(2));
}

#[test]
fn a_bench_installs_its_servers_and_skips_the_others() {
    let world = World::new();
    let recipe = |requires: &str| {
        format!(
            "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Go\"\nkind = \"runtime\"\nroutes = [\"text\"]\n\
             processes = \"single\"\nkeepalive = true\n[requires]\n{requires}\n\
             [start]\ncommand = [\"{{work}}/bin/server\", \"{{port}}\"]\n"
        )
    };
    write(&world, "built", &recipe("go = true"));
    write(&world, "absent", &recipe("commands = [\"prony-no-such-command\"]"));
    fs::write(world.path("recipes/built/go.mod"), "module built\n").unwrap();
    // The compiler is a script; what it builds is Prony's test server.
    let compiler = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nmkdir -p \"$(dirname \"$2\")\"\n\
         printf '#!/bin/sh\\nexec {BINARY} target --port $1\\n' >\"$2\" && chmod 755 \"$2\"\n"
    );
    let path = program(&world, "bin/go", &compiler);
    let experiment = "schema = \"prony.experiment/1\"\ntitle = \"t\"\nroute = \"text\"\ncandidates = [\"built\", \"absent\"]\n\
        blocks = 1\n[[plan]]\nrequests = 40\nconnections = 2\nwarmup = \"0\"\n";
    world.write("e.toml", experiment);
    let line = [
        "bench",
        "e.toml",
        "--install",
        "--yes",
        "--servers",
        "recipes",
        "--disturbed",
        "keep",
        "-o",
        "r.jsonl",
    ];
    let mut command = world.command(&line);
    let said: Said = command.env("PATH", path).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let shown = said.err.find("absent: the command prony-no-such-command is missing");
    assert!(shown.is_some() && shown < said.err.find("skipped  absent"), "{said:?}");
    assert!(said.out.contains("1 of 2 installed") && said.out.contains("Run log: r.jsonl"), "{said:?}");
    let refused = world.prony(&["bench", "e.toml", "--yes"]);
    assert!(refused.code == Some(2) && refused.err.contains("--install"), "{refused:?}");
}
