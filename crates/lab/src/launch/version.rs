//! What version a candidate is, asked of itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::spec::LaunchContext;
use super::{container, native};
use crate::candidate::{Candidate, Layout};
use crate::programs::{Captured, capture};

const TIMEOUT: Duration = Duration::from_secs(5);
const LINE_CHARS_MAX: usize = 200;

impl Candidate {
    /// The first line that its version command prints, within 5 s; `None` if there is none.
    pub(crate) fn version(&self, layout: &Layout) -> Option<String> {
        let server = self.server()?;
        let command = &server.recipe.version.as_ref()?.command;
        // Nothing runs while it is asked; validation has seen to it that only these are not needed.
        let context = LaunchContext {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            run_dir: std::env::temp_dir(),
            services: Vec::new(),
            hidden: Vec::new(),
        };
        let values = native::values(self, layout, &context);
        if let Some(engine) = self.engine() {
            return first_line(&container::ask_version(self, engine, &values)?);
        }
        let work = layout.work(&server.name);
        server.materialise(&work).ok()?;
        let env = native::env(self, &layout.home(), &values);
        let captured = capture(&native::argv(&values, command), &work, &env, TIMEOUT)?;
        first_line(&captured)
    }
}

/// The first line that is not empty, of stdout or else of stderr (nginx and older Javas).
fn first_line(captured: &Captured) -> Option<String> {
    [&captured.stdout, &captured.stderr].into_iter().find_map(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|c| !c.is_control()).take(LINE_CHARS_MAX).collect())
    })
}
