//! What a plan with a `route` requests.

use prony_model::list::{Order, TargetList};
use prony_model::options::LoadOptions;
use prony_model::plan::{Plan, Work};
use prony_model::{PlanError, Secret};

use crate::check::{DB_IDS, JSON_TYPE, Route, db_path, json_body};
use crate::service::{CONTRACT, Service};
use crate::toml_file::{TomlError, TomlFile};

/// The route of this name, where the table or the defaults name one that can be loaded.
pub(super) fn loaded(
    file: TomlFile<'_>,
    path: &[&str],
    (raw, meant): (&LoadOptions, &LoadOptions),
    name: &str,
) -> Result<Route, TomlError> {
    let table = if raw.route.is_some() { path } else { &["load"][..] };
    let key = [table, &["route"]].concat();
    let why = "the lines of \"targets\" say what is requested: remove \"route\".";
    file.refuse_if(meant.targets.is_some(), &key, why)?;
    let why = "the log of \"replay\" says what is requested: remove \"route\".";
    file.refuse_if(meant.replay.is_some(), &key, why)?;
    let known = Route::LOADED.into_iter().find(|route| route.to_string() == name);
    let why = || {
        let names = Route::LOADED.map(|route| format!("\"{route}\"")).join(", ");
        file.error(&key, format!("the route {name:?} cannot be loaded: write one of {names}."))
    };
    let route = known.ok_or_else(why)?;
    let why = format!("the route \"{route}\" says what is sent: remove \"method\" and \"body\".");
    let is_free = matches!(route, Route::Text | Route::Json);
    file.refuse_if(!is_free && (meant.method.is_some() || meant.body.is_some()), &key, why)?;
    Ok(route)
}

pub(super) fn aim(load: &mut Plan, route: Route) -> Result<(), PlanError> {
    route.path().clone_into(&mut load.target.path);
    match route {
        Route::Db => {
            let lines = DB_IDS.map(db_path).join("\n");
            let list = TargetList::parse(lines.as_bytes(), Some(&load.target), "GET", Order::InTurn);
            load.work = Work::List(list.map_err(|why| PlanError(why.to_string()))?.1);
            "/".clone_into(&mut load.target.path);
        }
        Route::EchoJson => {
            load.work = Work::Request(route.method().to_owned());
            load.body = json_body();
            if !load.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                let value = Secret::of_header("Content-Type", JSON_TYPE).map_err(PlanError)?;
                load.headers.push(("Content-Type".to_owned(), value));
            }
        }
        _ => {}
    }
    load.check()
}

/// Refuses plans' routes of which one needs a service of the contract that the file does not have.
pub(super) fn check_services(
    file: TomlFile<'_>,
    routes: impl Iterator<Item = Route>,
    services: &[Service],
) -> Result<(), TomlError> {
    for route in routes {
        let Some(name) = route.needs() else { continue };
        let has = services.iter().any(|service| service.is_contract() && service.name == name);
        let why = format!(
            "the route \"{route}\" needs a service of the contract: write [service.{name}] with service = {CONTRACT:?}."
        );
        file.refuse_if(!has, &["plan"], why)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::super::Experiment;

    use crate::candidate::Candidate;
    use crate::catalogue::Catalogue;

    #[test]
    fn realistic_loads_four_routes_that_its_servers_have() {
        let experiment = Experiment::find("realistic").unwrap();
        let asked: Vec<String> =
            experiment.plans.iter().map(|plan| plan.named(&plan.load).plan.asked()).collect();
        assert_eq!(asked, ["16 requests in turn", "GET /fortunes", "GET /upstream", "POST /echo"]);
        let echo = &experiment.plans[3].load;
        assert_eq!((echo.body.len(), echo.headers[0].1.value()), (10_240, "application/json"));
        assert!(experiment.controls && experiment.budget.unwrap() <= Duration::from_secs(1800));
        let catalogue = Catalogue::load(&[]);
        let candidates: Vec<Candidate> =
            experiment.candidates.iter().map(|label| Candidate::parse(label, &catalogue).unwrap()).collect();
        let languages: BTreeSet<&str> = candidates.iter().filter_map(Candidate::language).collect();
        assert_eq!((candidates.len(), languages.len()), (8, 5));
        for (candidate, plan) in candidates.iter().flat_map(|c| experiment.plans.iter().map(move |p| (c, p)))
        {
            assert!(experiment.has_route(candidate, plan), "{candidate} {}", plan.name);
        }
    }
}
