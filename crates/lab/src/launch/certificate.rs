//! A certificate for a server that speaks TLS, made for one start.

use std::net::IpAddr;
use std::path::Path;

use prony_model::tls::Roots;

pub(crate) const CERTIFICATE: &str = "cert.pem";
pub(super) const KEY: &str = "key.pem";

/// Makes a certificate for this address and localhost with a key of its own, and writes both into the run's folder. Every
/// user may read them there: servers give up their rights, and both are worth nothing once the server has ended.
pub(crate) fn make(run_dir: &Path, address: IpAddr) -> Result<Roots, String> {
    let names = vec![address.to_string(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|why| format!("A certificate could not be made: {why}."))?;
    let certificate = made.cert.pem();
    for (name, text) in [(CERTIFICATE, &certificate), (KEY, &made.signing_key.serialize_pem())] {
        let path = run_dir.join(name);
        std::fs::write(&path, text)
            .map_err(|why| format!("{} could not be written: {why}.", path.display()))?;
    }
    Roots::from_pem(certificate.as_bytes()).map_err(|why| format!("A certificate could not be made: {why}."))
}
