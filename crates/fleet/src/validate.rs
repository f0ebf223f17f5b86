//! Which plans a fleet can apply.

use prony_load::LoadError;
use prony_model::plan::{Arrivals, Plan};
use prony_model::tls::IdentityFiles;

pub fn validate(plan: &Plan, agents: u32) -> Result<(), LoadError> {
    let refused = |why: String| Err(LoadError::Plan(prony_model::PlanError(why)));
    plan.check_threads(agents)?;
    let workers = agents.saturating_mul(plan.threads);
    if workers > u32::from(u16::MAX) {
        return refused(format!("{workers} threads in all are more than a fleet has: give fewer (-t)."));
    }
    if let Arrivals::Poisson(rate) = plan.arrivals
        && rate.as_micro_per_s() < u64::from(agents)
    {
        return refused(format!("{rate} cannot be divided over {agents} agents: give a higher -R."));
    }
    if plan.unix.is_some() {
        return refused("Agents load addresses, not Unix sockets: leave --unix or --fleet out.".to_owned());
    }
    if plan.body_file.is_some() {
        return refused(
            "--body-file is a file of one machine: give -b @FILE, or leave --fleet out.".to_owned(),
        );
    }
    if plan.connect.all_addresses {
        return refused(
            "--all-addresses is of one machine's connections: leave it or --fleet out.".to_owned(),
        );
    }
    if plan.connect.resolve_every.is_some() {
        return refused("--resolve-every is of one machine's names: leave it or --fleet out.".to_owned());
    }
    if plan.samples_max > 0 {
        return refused(
            "Single requests (--export jtl) stay on the machine that sent them: leave it or --fleet out."
                .to_owned(),
        );
    }
    let of_stdin = |files: &IdentityFiles| files.cert == "-" || files.key.as_deref() == Some("-");
    if plan.tls.identity_files.as_ref().is_some_and(of_stdin) {
        return refused(
            "Each agent reads --cert and --key on its own host, and none from standard input: give files."
                .to_owned(),
        );
    }
    plan.to_wire().map(drop).map_err(LoadError::Plan)
}
