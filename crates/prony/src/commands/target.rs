//! `prony target`: the reference server in the foreground.

use std::io::Read;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::thread;

use prony_target::{Config, Delay, Http2Config, StartError, Stopper, Target};

use crate::cli::TargetArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::result_file;

pub(crate) fn run(arguments: &TargetArguments, printer: &Printer) -> Result<(), Failure> {
    let config = config(arguments)?;
    let mut signals = interrupt::signals()?;
    let not_started = |e: StartError| Failure::not_measured(sentence(&e));
    let target = Target::start(&config).map_err(not_started)?;
    if let (Some(path), Some(certificate)) = (&arguments.write_certificate, target.certificate()) {
        result_file::write(path, |mut file| file.write_all(certificate.as_bytes())).map_err(|e| {
            Failure::not_measured(format!(
                "The certificate cannot be written to {}: {e}. Name a file in a folder that can be written to.",
                path.display()
            ))
        })?;
    }
    let (at_signal, at_end) = (target.stopper(), target.stopper());
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            at_signal.stop();
        }
    });
    if arguments.until_stdin_ends {
        thread::spawn(move || stop_when_stdin_ends(&at_end));
    }
    let scheme = if arguments.tls { "https" } else { "http" };
    printer.out(&format!("{scheme}://{}/", target.address()));
    target.wait().map(|_| ()).map_err(not_started)
}

fn stop_when_stdin_ends(stopper: &Stopper) {
    let mut byte = [0];
    // Anything that comes is ignored; the end, or an error, ends the server.
    while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
    stopper.stop();
}

/// Two: what a stall held back goes out in half the time. More would take the load's processors.
fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, |processors| processors.get().min(2))
}

fn config(arguments: &TargetArguments) -> Result<Config, Failure> {
    let wrong = |e: prony_target::ConfigError| Failure::usage(sentence(&e));
    let host: IpAddr = match arguments.host.as_str() {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        text => text.parse().map_err(|_| {
            Failure::usage(format!("--host {text:?} is not an address: write one like 127.0.0.1."))
        })?,
    };
    Ok(Config {
        address: SocketAddr::new(host, arguments.port),
        threads: arguments.threads.map_or_else(default_threads, usize::from),
        delay: arguments.delay.as_deref().map_or(Ok(Delay::None), str::parse).map_err(wrong)?,
        stall: arguments.stall.as_deref().map(str::parse).transpose().map_err(wrong)?,
        close: arguments.close,
        capacity_per_s: arguments
            .capacity
            .as_deref()
            .map(prony_model::units::parse_rate)
            .transpose()?
            .map(prony_model::rate::Rate::as_per_s),
        body_bytes: arguments.body,
        seed: arguments.seed,
        tls: arguments.tls,
        http2: Http2Config {
            max_streams: arguments.max_streams,
            lower_streams: arguments.lower_streams,
            goaway_after: arguments.goaway_after,
            reset_every: arguments.reset_every,
            starve_uploads: arguments.starve_uploads,
        },
    })
}

fn sentence(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
