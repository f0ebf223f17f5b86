//! `--targets FILE|-`: a list of requests.

use std::fs::File;
use std::io::{self, Read};

use prony_load::list::{Order, TargetList};
use prony_load::target::Target;

use crate::cli::LoadArguments;
use crate::failure::Failure;

/// The most that is read of a list: a million lines of a quarter of a kilobyte.
const LIST_MAX_BYTES: u64 = 256 << 20;

/// The server and the requests of `--targets`, if it is given; `url` is the command line's own, which then says only
/// which server.
pub(crate) fn read(
    arguments: &LoadArguments,
    url: Option<&Target>,
) -> Result<Option<(Target, TargetList)>, Failure> {
    let Some(path) = arguments.targets.as_deref() else {
        return match arguments.shuffle {
            true => Err(Failure::usage("--shuffle is for the lines of a list: give --targets FILE with it.")),
            false => Ok(None),
        };
    };
    if let Some(url) = url.filter(|url| url.path != "/") {
        let server = Target { path: String::new(), ..url.clone() }.display_url();
        return Err(Failure::usage(format!(
            "With --targets the URL says only which server, and the list says what is asked of it: write {server}."
        )));
    }
    let order = if arguments.shuffle { Order::Shuffled } else { Order::InTurn };
    let parsed = TargetList::parse(&bytes(path)?, url, super::plan::method(&arguments.plan), order);
    let name = if path == "-" { "standard input" } else { path };
    parsed.map(Some).map_err(|e| match e.line {
        Some(_) => Failure::usage(format!("--targets {name}, {e}")),
        None => Failure::usage(format!("--targets {name}: {e}")),
    })
}

fn bytes(path: &str) -> Result<Vec<u8>, Failure> {
    let refused = |why: String| Failure::usage(format!("--targets {path} could not be read: {why}."));
    let mut bytes = Vec::new();
    let most = LIST_MAX_BYTES + 1;
    let read = match path {
        "-" => io::stdin().lock().take(most).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(|e| refused(e.to_string()))?;
    if bytes.len() as u64 > LIST_MAX_BYTES {
        return Err(refused(format!("it is larger than {} MiB", LIST_MAX_BYTES >> 20)));
    }
    Ok(bytes)
}
