use super::*;

const GOOD: &str = r#"
schema    = "prony.server/1"
title     = "AMPHP http-server"
language  = "PHP"
kind      = "event-loop"
versus    = "nginx-fpm"
routes    = ["text", "json", "sleep"]
processes = "workers"
keepalive = true
[requires]
apt = ["php8.2-cli"]
pip = ["flask==3.1.3"]
python = ">=3.9,<3.13"
[vars]
php_flags = []
loop = "native"
[start]
command = ["php", "{php_flags}", "server.php", "{host}:{port}", "--loop={loop}"]
env = { WORKERS = "{workers}" }
templates = ["php.ini"]
ready_timeout_s = 20
[[helper]]
command = ["helper", "{run}/sock"]
wait_for = "{run}/sock"
[version]
command = ["sed", "-n", "{n;p}", "{work}/composer.lock"]
[axes.opt]
none = {}
opcache = { php_flags = ["-d", "opcache.enable_cli=1"] }
jit = { php_flags = ["-d", "opcache.jit=on"], env = { JIT = "1" }, requires = { apt = ["php8.2-dev"] } }
[axes.close]
no = {}
yes = { keepalive = false, processes = "single" }
[axes.a-loop]
native = {}
ev = { loop = "ev" }
"#;

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is in the recipe");
    Recipe::parse("s.toml", &GOOD.replacen(from, to, 1)).expect_err("refused").to_string()
}

#[test]
fn a_recipe_is_read_whole_and_its_axes_keep_their_order() {
    let recipe = Recipe::parse("s.toml", GOOD).unwrap();
    assert_eq!((recipe.kind, recipe.processes), (Kind::EventLoop, Processes::Workers));
    assert_eq!(recipe.routes, [Route::Text, Route::Json, Route::Sleep]);
    assert_eq!(recipe.start.ready_timeout(), Duration::from_secs(20));
    assert_eq!(recipe.helpers[0].wait_for.as_deref(), Some("{run}/sock"));
    let axes: Vec<&str> = recipe.axes.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(axes, ["opt", "close", "a-loop"]);
    let opt: Vec<&str> = recipe.axes[0].values.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(opt, ["none", "opcache", "jit"]);
    let jit = &recipe.axes[0].values[2];
    assert_eq!(jit.vars["php_flags"], Var::Many(vec!["-d".into(), "opcache.jit=on".into()]));
    assert_eq!((jit.env["JIT"].as_str(), &jit.requires.apt[..]), ("1", &["php8.2-dev".to_owned()][..]));
    let yes = &recipe.axes[1].values[1];
    assert_eq!((yes.keepalive, yes.processes), (Some(false), Some(Processes::Single)));
}

#[test]
fn misspelt_keys_and_words_name_the_nearest() {
    assert_eq!(
        error("keepalive = true", "keep_alive = true"),
        "s.toml:9: unknown key \"keep_alive\" in the file: did you mean \"keepalive\"? Known: schema, title, \
         language, kind, versus, routes, processes, keepalive, protocols, shared, requires, vars, start, helper, service, \
         version, axes, check, image, port, recycles, capabilities."
    );
    assert_eq!(
        error("templates =", "template ="),
        "s.toml:20: unknown key \"template\" in [start]: did you mean \"templates\"? Known: command, args, env, \
         inherit, templates, ready_timeout_s."
    );
    assert_eq!(
        error("\"event-loop\"", "\"eventloop\""),
        "s.toml:5: \"kind\" cannot be \"eventloop\": did you mean \"event-loop\"? Known: web-server, event-loop, \
         extension, process-manager, app-server, built-in, runtime."
    );
    assert_eq!(
        error("\"json\", ", "\"jsn\", "),
        "s.toml:7: \"routes\" cannot be \"jsn\": did you mean \"json\"? Known: text, json, sleep, echo, work, upstream, db, fortunes, echo-json."
    );
    assert_eq!(
        error("wait_for =", "waitfor ="),
        "s.toml:24: unknown key \"waitfor\" in [[helper]]: did you mean \"wait_for\"? Known: command, wait_for."
    );
    assert_eq!(
        error("requires = { apt", "requires = { apts"),
        "s.toml:30: unknown key \"apts\" in [axes.opt.jit.requires]: did you mean \"apt\"? Known: apt, commands, \
         apt_build, pip, python, npm, go, cargo, composer, pecl, mix, download, npm_scripts."
    );
    assert_eq!(
        error("prony.server/1", "prony.server/2"),
        "s.toml:2: schema \"prony.server/2\" is not known: this version reads \"prony.server/1\"."
    );
}

#[test]
fn wrong_types_say_what_was_expected() {
    assert_eq!(
        error("command = [\"php\"", "command = \"php\"#"),
        "s.toml:18: \"command\" must be a list, found the text \"php\"."
    );
    assert_eq!(
        error("keepalive = true", "keepalive = \"yes\""),
        "s.toml:9: \"keepalive\" must be true or false, found the text \"yes\"."
    );
    assert_eq!(
        error("loop = \"native\"", "loop = 3"),
        "s.toml:16: \"loop\" must be a text in quotes, found the number 3."
    );
    assert_eq!(
        error("opcache = { php_flags = [\"-d\", \"opcache.enable_cli=1\"] }", "opcache = 1"),
        "s.toml:29: \"opcache\" must be a table of what the setting changes, found the number 1."
    );
    assert_eq!(error("title     =", "#"), "s.toml:1: the file has no \"title\": add it.");
}

#[test]
fn variables_must_be_known_and_lists_stand_alone() {
    assert_eq!(
        error("{host}:{port}\"", "{host}:{prt}\""),
        "s.toml:18: unknown variable {prt}: did you mean {port}? Known: host, port, workers, run, work, venv, \
         user, unprivileged_user, ext, opt, cert, key, loop, php_flags."
            .replace("{port}?", "\"port\"?")
    );
    assert_eq!(
        error("--loop={loop}", "--flags={php_flags}"),
        "s.toml:18: {php_flags} is a list: it must be an argument of its own, not part of \"--flags={php_flags}\"."
    );
    assert!(error("{work}/composer", "{port}/composer").starts_with("s.toml:26: unknown variable {port}: "));
    assert!(error("JIT = \"1\"", "JIT = \"{jit}\"").starts_with("s.toml:30: unknown variable {jit}: "));
    assert!(error("\"{workers}\"", "\"{nothing}\"").starts_with("s.toml:19: unknown variable {nothing}: "));
    assert_eq!(
        error("loop = \"native\"", "port = \"1\""),
        "s.toml:16: {port} is a variable of every recipe: choose another name."
    );
}

#[test]
fn a_server_speaks_what_there_is_to_speak() {
    assert_eq!(
        Recipe::parse("s.toml", GOOD).unwrap().protocols,
        [ProtocolId::Http1],
        "unless it says otherwise"
    );
    assert_eq!(
        error("keepalive = true", "keepalive = true\nprotocols = [\"http/1.1\", \"h3\"]"),
        "s.toml:10: \"protocols\" cannot be \"h3\": known: http/1.1, h2c, h2."
    );
    let none = error("keepalive = true", "keepalive = true\nprotocols = []");
    assert_eq!(none, "s.toml:10: protocols is empty: name at least \"http/1.1\".");
    let axis = error("opcache = { php_flags", "opcache = { protocols = [\"http2\"], php_flags");
    assert_eq!(
        axis,
        "s.toml:29: \"protocols\" cannot be \"http2\": did you mean \"http/1.1\"? Known: http/1.1, h2c, h2."
    );
}

#[test]
fn an_axis_sets_only_what_is_declared() {
    assert_eq!(
        error("opcache = { php_flags", "opcache = { php_flag"),
        "s.toml:29: \"php_flag\" is not a variable that [vars] declares: did you mean \"php_flags\"? Known: \
         loop, php_flags, env, requires, keepalive, processes, image, protocols, tls, recycles."
    );
    assert_eq!(
        error("loop = \"ev\"", "loop = [\"ev\"]"),
        "s.toml:36: \"loop\" must be a text in quotes, as in [vars]."
    );
    assert_eq!(
        error("ev = {", "\"e+v\" = {"),
        "s.toml:36: \"e+v\" cannot stand in a label: use letters, digits, '.', '_' and '-'."
    );
}

#[test]
fn wrong_commands_packages_templates_and_timeouts_are_refused() {
    assert_eq!(
        error("[\"helper\", \"{run}/sock\"]", "[]"),
        "s.toml:23: the command is empty: name a program."
    );
    assert_eq!(error("flask==3.1.3", "flask"), "s.toml:12: \"flask\" is not pinned: write NAME==VERSION.");
    assert_eq!(
        error("\"php8.2-cli\"", "\"--purge\""),
        "s.toml:11: \"--purge\" is not the name of a Debian package."
    );
    assert_eq!(
        error(">=3.9,<3.13", "3"),
        "s.toml:13: python = \"3\" is not understood: write \">=3.9\" or \">=3.9,<3.13\"."
    );
    assert_eq!(
        error("php.ini", "../php.ini"),
        "s.toml:20: template \"../php.ini\" must be the name of a file beside server.toml."
    );
    assert_eq!(
        error("ready_timeout_s = 20", "ready_timeout_s = 0"),
        "s.toml:21: ready_timeout_s must be between 1 and 600, found 0."
    );
}

#[test]
fn capabilities_and_inherited_variables_are_checked() {
    let with = |line: &str| error("keepalive = true", &format!("keepalive = true\n{line}"));
    let refused = with("capabilities = [\"SETGID\", \"SYS_ADMIN\"]");
    assert!(refused.starts_with("s.toml:10: the capability \"SYS_ADMIN\" cannot be kept: "), "{refused}");
    assert!(
        refused.ends_with("nown: CHOWN, DAC_OVERRIDE, KILL, NET_BIND_SERVICE, SETGID, SETUID."),
        "{refused}"
    );
    assert_eq!(
        error("ready_timeout_s = 20", "inherit = [\"DATABASE_URL\", \"A=B\"]"),
        "s.toml:21: \"A=B\" cannot be the name of an environment variable."
    );
    let both = GOOD.replace("ready_timeout_s = 20", "inherit = [\"DATABASE_URL\"]");
    let both = both.replace("keepalive = true", "keepalive = true\ncapabilities = [\"SETGID\"]");
    let recipe = Recipe::parse("s.toml", &both).unwrap();
    assert_eq!(recipe.start.inherit, ["DATABASE_URL"]);
    assert_eq!(recipe.capabilities.unwrap(), ["SETGID"]);
}

#[test]
fn checks_of_its_own_may_replace_a_recipe_s_routes() {
    let own = GOOD.replace("routes    = [\"text\", \"json\", \"sleep\"]", "routes = []");
    assert!(Recipe::parse("s.toml", &own).is_err());
    let with_check = format!("{own}\n[[check]]\nrequest = \"GET /health\"\nstatus = 204\n");
    let recipe = Recipe::parse("s.toml", &with_check).unwrap();
    assert_eq!(recipe.checks[0].method_and_path(), ("GET", "/health"));
}

#[test]
fn ambiguous_or_unsafe_downloads_and_extensions_are_refused() {
    let with = |line: &str| error("pip = [\"flask==3.1.3\"]", line);
    assert_eq!(
        with("pecl = [\"ev-1.1.5\", \"--force\"]"),
        "s.toml:12: \"--force\" is not a PHP extension: write NAME, NAME-VERSION or NAME-VERSION \
         --with-an-option."
    );
    assert_eq!(with("pecl = [\"ev-1\", \"ev-2\"]"), "s.toml:12: \"ev\" is named twice: keep one of them.");
    let sum = "0123456789abcdef".repeat(4);
    let download = |url: &str, more: &str| {
        with(&format!("download = [{{ url = \"{url}\", sha256 = \"{sum}\"{more} }}]"))
    };
    assert_eq!(
        download("http://h/rr", ", exe = \"rr\""),
        "s.toml:12: \"http://h/rr\" must be an https:// URL of a file."
    );
    assert_eq!(
        download("https://h/rr", ""),
        "s.toml:12: the file is neither a program nor an archive: write exe = \"NAME\" or unpack = true."
    );
    assert_eq!(
        download("https://h/rr", ", exe = \"../rr\""),
        "s.toml:12: \"../rr\" must be a path inside {opt}."
    );
    let short = with("download = [{ url = \"https://h/rr\", sha256 = \"12\", exe = \"rr\" }]");
    assert!(short.starts_with("s.toml:12: sha256 must be 64 "), "{short}");
    let good = format!("download = [{{ url = \"https://h/rr\", sha256 = \"{sum}\", exe = \"bin/rr\" }}]");
    let recipe = Recipe::parse("s.toml", &GOOD.replacen("pip = [\"flask==3.1.3\"]", &good, 1)).unwrap();
    assert_eq!(recipe.requires.downloads()[0].exe.as_deref(), Some("bin/rr"));
}

#[test]
fn a_recipe_may_consist_of_an_image_and_a_port() {
    let recipe = Recipe::parse("s.toml", "image = \"me/app:1\"\nport = 8080\n").unwrap();
    assert_eq!((recipe.image.as_deref(), recipe.port), (Some("me/app:1"), Some(8080)));
    assert_eq!((recipe.title.as_str(), recipe.keepalive), ("me/app:1", None));
    assert_eq!(recipe.checks[0].method_and_path(), ("GET", "/"));
    let refused = |text: &str| Recipe::parse("s.toml", text).unwrap_err().to_string();
    assert_eq!(
        refused("image = \"me/app:1\"\n"),
        "s.toml:1: the image needs a port: write port = 8080, on which it listens, or a [start] with {port}."
    );
    assert_eq!(
        refused("port = 80\nimage = \"--rm\"\n"),
        "s.toml:2: \"--rm\" is not the name of an image: write NAME:TAG."
    );
    for half in ["a:1@sha256:12", "a:1@sha512:00", "a@"] {
        let said = refused(&format!("port = 80\nimage = {half:?}\n"));
        assert!(
            said.starts_with(&format!("s.toml:2: {half:?} has no whole digest: write NAME:TAG@sha256:")),
            "{said}"
        );
    }
    let pinned = format!("a:1@sha256:{}", "0f".repeat(32));
    let recipe = Recipe::parse("s.toml", &format!("port = 80\nimage = {pinned:?}\n")).unwrap();
    assert_eq!(recipe.image, Some(pinned));
    assert_eq!(refused("port = 0\nimage = \"a\""), "s.toml:1: port must be between 1 and 65535, found 0.");
    assert!(refused("port = 80\n").contains("the file has no \"schema\": add it."));
    assert!(error("keepalive = true", "keepalive = true\nport = 80").contains("port goes with image"));
}
