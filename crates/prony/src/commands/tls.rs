//! The flags of TLS: files and words to what a plan has of it.

use std::io::Read;

use prony_load::target::Target;
use prony_load::tls::{Identity, IdentityError, PemError, Roots, Tls, Verify};

use crate::cli::PlanArguments;
use crate::failure::Failure;

/// The largest PEM file that is read. A system's whole trust is a quarter of a megabyte.
const PEM_MAX_BYTES: u64 = 16 << 20;

/// How TLS is spoken with this target.
pub(crate) fn tls(arguments: &PlanArguments, target: &Target) -> Result<Tls, Failure> {
    if let Some(flag) = given(arguments).filter(|_| !target.tls) {
        let ab = if flag == "-k" { " (ab's -k, keep-alive, is the default here.)" } else { "" };
        return Err(Failure::usage(format!(
            "{flag} is for https:// targets, and none is loaded here: leave it out.{ab}"
        )));
    }
    let verify = match &arguments.cacert {
        _ if arguments.insecure => Verify::Nothing,
        None => Verify::System,
        Some(path) => {
            let roots = Roots::from_pem(&pem("--cacert", path)?);
            Verify::Roots(roots.map_err(|why| unusable("--cacert", path, &why))?)
        }
    };
    let identity = match &arguments.cert {
        None => None,
        Some(cert) => Some(identity(cert, arguments.key.as_deref())?),
    };
    let resumption = match arguments.tls_resumption.as_deref() {
        None | Some("on") => true,
        Some("off") => false,
        Some(other) => {
            return Err(Failure::usage(format!("--tls-resumption {other:?}: write on or off.")));
        }
    };
    Ok(Tls { verify, identity, resumption })
}

/// The first flag of TLS that was given.
fn given(arguments: &PlanArguments) -> Option<&'static str> {
    [
        ("-k", arguments.insecure),
        ("--cacert", arguments.cacert.is_some()),
        ("--cert", arguments.cert.is_some()),
        ("--tls-resumption", arguments.tls_resumption.is_some()),
    ]
    .into_iter()
    .find_map(|(flag, given)| given.then_some(flag))
}

fn identity(cert: &str, key: Option<&str>) -> Result<Identity, Failure> {
    let (key_flag, key_path) = key.map_or(("--cert", cert), |path| ("--key", path));
    Identity::from_pem(&pem("--cert", cert)?, &pem(key_flag, key_path)?).map_err(|wrong| match wrong {
        IdentityError::Chain(why) => unusable("--cert", cert, &why),
        IdentityError::Key(why) => unusable(key_flag, key_path, &why),
    })
}

fn unusable(flag: &str, path: &str, why: &PemError) -> Failure {
    Failure::usage(format!("{flag} {path} cannot be used: {why}."))
}

fn pem(flag: &str, path: &str) -> Result<Vec<u8>, Failure> {
    let refused = |why: String| Failure::usage(format!("{flag} {path} could not be read: {why}."));
    let file = std::fs::File::open(path).map_err(|e| refused(e.to_string()))?;
    let mut bytes = Vec::new();
    file.take(PEM_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| refused(e.to_string()))?;
    if bytes.len() as u64 > PEM_MAX_BYTES {
        return Err(refused(format!("it is larger than {} MiB", PEM_MAX_BYTES >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &PlanArguments, url: &str) -> Result<Tls, String> {
        tls(arguments, &Target::parse(url).unwrap()).map_err(|failure| failure.sentence)
    }

    #[test]
    fn flags_of_tls_need_a_target_that_speaks_it() {
        let insecure = PlanArguments { insecure: true, ..Default::default() };
        assert_eq!(of(&insecure, "https://h/").unwrap().verify, Verify::Nothing);
        assert!(of(&insecure, "http://h/").unwrap_err().contains("ab's -k"));
        let off = PlanArguments { tls_resumption: Some("off".to_owned()), ..Default::default() };
        assert!(!of(&off, "https://h/").unwrap().resumption);
        assert!(of(&off, "http://h/").unwrap_err().contains("--tls-resumption is for https://"));
        assert_eq!(of(&PlanArguments::default(), "http://h/").unwrap(), Tls::default());
    }

    #[test]
    fn files_and_words_that_cannot_be_used_are_named() {
        let with = |change: fn(&mut PlanArguments)| {
            let mut arguments = PlanArguments::default();
            change(&mut arguments);
            of(&arguments, "https://h/").unwrap_err()
        };
        assert!(with(|a| a.cacert = Some("/no/such/ca.pem".to_owned())).contains("--cacert /no/such/ca.pem"));
        let no_pem = with(|a| a.cert = Some("/dev/null".to_owned()));
        assert!(no_pem.contains("--cert /dev/null") && no_pem.contains("no certificate"), "{no_pem}");
        let endless = with(|a| a.cacert = Some("/dev/zero".to_owned()));
        assert!(endless.contains("16 MiB"), "{endless}");
        assert!(with(|a| a.tls_resumption = Some("maybe".to_owned())).contains("on or off"));
    }
}
