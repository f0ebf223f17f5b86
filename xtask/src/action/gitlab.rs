//! The jobs of ci/gitlab.yml, run as GitLab's runner runs one: scripts joined, in one shell, each in its own folder.

use std::cell::RefCell;
use std::path::Path;

use serde_json::Value;

use super::api::Api;
use super::{BUILD, DELAYS, Place, TOKEN, git, read, sha256, unseen};
use crate::files::{self, make};
use crate::release::Release;

/// Where the template takes its installer from, as GitHub has it.
const RAW: &str = "https://raw.githubusercontent.com/";

pub(super) fn slow_commit(place: &Place) -> Result<(), String> {
    let slow = |text: &str| text.replace(&format!("sleep({})", DELAYS[0]), &format!("sleep({})", DELAYS[1]));
    let (workspace, [base, _]) = place.repository("gitlab", slow)?;
    let runner = workspace.with_file_name("runner");
    make(&runner)?;
    let (api, template) = (Api::start()?, read(&place.root, "ci/gitlab.yml")?);
    let said = RefCell::new(String::new());
    let run = |name: &str, workspace: &Path, own: &[(&str, &str)]| {
        let job = extended(&template, name);
        let mut variables = variables(place, &job, &runner, &[api.url(), base.clone()])?;
        variables.extend(own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let lines =
            ["before_script", "script"].iter().flat_map(|name| job[name].as_array().into_iter().flatten());
        let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
        let script = runner.join("script.sh");
        files::write(&script, lines.join("\n"))?;
        let ran = place.machine.bash(&script, workspace, &variables)?;
        let printed = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
        said.borrow_mut().push_str(&printed);
        ran.status.code().ok_or_else(|| format!("{name} was killed"))
    };
    let commenting = workspace.with_file_name("commenting");
    make(&commenting)?;
    let installer = sha256(&place.root.join("ci/install.sh"))?;
    let installer = ("PRONY_INSTALLER_SHA256", installer.as_str());
    let codes = [
        // Within reach of the change's code it is refused.
        run(".prony", &workspace, &[("PRONY_CI_TOKEN", TOKEN)])?,
        run(".prony", &workspace, &[("PRONY_INSTALLER_SHA256", &"0".repeat(64))])?,
        run(".prony", &workspace, &[installer])?,
        // Nothing was stored: there is nothing to be said.
        run(".prony-comment", &commenting, &[("PRONY_CI_TOKEN", TOKEN)])?,
    ];
    ensure!(codes == [2, 1, 1, 0] && api.asked().is_empty(), "{codes:?}: {said:?}");
    unseen(&workspace)?;
    for file in files::list(&workspace.join("prony-ci"))? {
        files::copy(&file, &commenting.join("prony-ci").join(files::name(&file)))?;
    }
    let code = run(".prony-comment", &commenting, &[("PRONY_CI_TOKEN", TOKEN)])?;
    ensure!(code == 0, "{code}: {said:?}");
    ensure!(
        git(&workspace, &["status", "--porcelain"])?.find("install").is_none(),
        "it is installed in the workspace"
    );
    let has = template[".prony-comment"]["environment"]["name"] == "prony-comment";
    ensure!(has && template[".prony"]["environment"].is_null(), "the token's environment");
    let file = |name: &str| files::read(&workspace.join("prony-ci").join(name)).unwrap_or_default();
    ensure!(file("answer.env").contains("verdict=slower\n"), "{}", file("answer.env"));
    ensure!(file("junit.xml").contains("<testsuite"), "{}", file("junit.xml"));
    let asked = api.asked();
    let words: Vec<&str> = asked.iter().filter_map(|(line, _)| line.split(' ').next()).collect();
    ensure!(words == ["GET", "POST"], "asked of the API: {asked:?}");
    let right = asked[1].0.ends_with(TOKEN) && asked[1].1.contains("head is slower than base");
    ensure!(right, "the comment: {:?}", asked[1]);
    Ok(())
}

/// All variables of the job. Its addresses are those of the template, with this repository's files behind them.
fn variables(
    place: &Place,
    job: &Value,
    runner: &Path,
    [api, base]: &[String; 2],
) -> Result<Vec<(String, String)>, String> {
    let release = Release::read(&place.root)?;
    let at = |path: &Path| format!("file://{}", path.display());
    let releases = (format!("{}/releases/download", release.address()), at(&place.releases()?));
    let raw = (format!("{RAW}{}/v{}", release.repository, env!("CARGO_PKG_VERSION")), at(&place.root));
    let template = job["variables"].as_object().ok_or("the template has no variables")?;
    let mut all = Vec::new();
    for (name, value) in template {
        let mut value = value.as_str().unwrap_or_default().to_owned();
        for (other, is) in template {
            value = value.replace(&format!("${other}"), is.as_str().unwrap_or_default());
        }
        for (public, own) in [&releases, &raw] {
            value = value.replace(public, own);
        }
        ensure!(!value.contains("https:"), "{name} is an address of its own: {value}");
        all.push((name.clone(), value));
    }
    let known = [
        ("PATH", place.machine.path()),
        ("HOME", runner.display().to_string()),
        ("PRONY_TURN", runner.join("turn").display().to_string()),
        ("PRONY_STATE", runner.join("state").display().to_string()),
        ("PRONY_DISTURBED", "keep".to_owned()),
        ("PRONY_CI_SERVE", "python3 server.py --port {port} --delay 20".to_owned()),
        ("PRONY_CI_BUILD", BUILD.to_owned()),
        ("PRONY_CI_LOAD", "-c 4 -d 1s --warmup 0 --blocks 3".to_owned()),
        ("PRONY_CI_MARGIN", "throughput=90%,p50=90%,p99=90%".to_owned()),
        ("CI", "true".to_owned()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.clone()),
        ("CI_API_V4_URL", api.clone()),
        ("CI_PROJECT_ID", "42".to_owned()),
        ("CI_MERGE_REQUEST_IID", "5".to_owned()),
    ];
    all.extend(known.map(|(name, value)| (name.to_owned(), value)));
    Ok(all)
}

/// A job with what it extends, as GitLab puts them together: mappings are merged, all else is replaced.
fn extended(template: &Value, name: &str) -> Value {
    let own = &template[name];
    let Some(base) = own["extends"].as_str() else { return own.clone() };
    let mut all = extended(template, base);
    merge(&mut all, own);
    all
}

fn merge(all: &mut Value, own: &Value) {
    match own.as_object() {
        Some(own) if all.is_object() => own.iter().for_each(|(key, value)| merge(&mut all[key], value)),
        _ => *all = own.clone(),
    }
}
