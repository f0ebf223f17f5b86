//! The drawing thread. The run publishes a copy of its state when nobody holds the lock, and goes on; this thread takes
//! it four times a second, under the kernel's idle policy, and writes what has changed since its last frame.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use prony_host::cpus;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::queue;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::Rect;

use super::canvas::Theme;
use super::screen::{self, Keys};
use super::view::{View, draw};
use crate::interrupt;
use crate::lock::locked;

/// Between two frames: nobody reads what changes faster.
pub(super) const FRAME_EVERY: Duration = Duration::from_millis(250);
/// The view is no larger, whatever the terminal is: that bounds a frame's cost.
const LARGEST: (u16, u16) = (160, 50);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    pub(super) next: Duration,
}

impl Pace {
    pub(super) fn wait(self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }

    /// Whether it is due now; the next time is so long after. One that was missed is not made up for.
    pub(super) fn due(&mut self, now: Duration, every: Duration) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + every;
        }
        due
    }
}

#[derive(Default)]
pub(super) struct Frames {
    shown: Buffer,
}

impl Frames {
    /// The bytes that turn what is shown into what `draw` draws on so many columns and rows.
    pub(super) fn frame(
        &mut self,
        (width, height): (u16, u16),
        draw: impl FnOnce(&mut Buffer),
    ) -> io::Result<Vec<u8>> {
        let area = Rect::new(0, 0, width.min(LARGEST.0), height.min(LARGEST.1));
        let mut next = Buffer::empty(area);
        draw(&mut next);
        let mut bytes = Vec::new();
        let mut out = CrosstermBackend::new(&mut bytes);
        queue!(out, BeginSynchronizedUpdate)?;
        if self.shown.area != area {
            out.clear_region(ClearType::All)?;
            self.shown = Buffer::empty(area);
        }
        out.draw(self.shown.diff_iter(&next))?;
        queue!(out, EndSynchronizedUpdate)?;
        self.shown = next;
        Ok(bytes)
    }
}

#[derive(Debug)]
pub(super) struct Shared<V> {
    newest: Mutex<Arc<V>>,
    over: AtomicBool,
}

impl<V: Clone> Shared<V> {
    /// Replaces the newest state, unless the drawing thread, which runs below everything else, is taking one.
    pub(super) fn publish(&self, view: &V) {
        if let Ok(mut newest) = self.newest.try_lock() {
            *newest = Arc::new(view.clone());
        }
    }
}

/// A view that is on the screen; the terminal is restored when this is dropped.
#[derive(Debug)]
pub(super) struct Painter<V> {
    pub(super) shared: Arc<Shared<V>>,
}

impl<V: View> Painter<V> {
    /// Takes the terminal and begins to draw, on these CPUs.
    pub(super) fn start(view: V, theme: Theme, notes: Vec<String>, cpus: &[u32]) -> io::Result<Painter<V>> {
        let shared = Arc::new(Shared { newest: Mutex::new(Arc::new(view)), over: AtomicBool::new(false) });
        screen::enter().inspect_err(|_| screen::restore())?;
        let painter = Painter { shared: Arc::clone(&shared) };
        let cpus = cpus.to_vec();
        thread::Builder::new()
            .name("prony-view".to_owned())
            .spawn(move || {
                cpus::enter_background(&cpus);
                paint(&shared, theme, &notes);
            })
            .inspect_err(|_| screen::restore())?;
        Ok(painter)
    }
}

impl<V> Drop for Painter<V> {
    fn drop(&mut self) {
        // The thread sees it when it next wakes; the terminal does not wait for that.
        self.shared.over.store(true, Ordering::Relaxed);
        screen::restore();
    }
}

fn paint<V: View>(shared: &Shared<V>, theme: Theme, notes: &[String]) {
    let began = Instant::now();
    let mut keys = Keys::new();
    let mut pace = Pace::default();
    let mut frames = Frames::default();
    let mut asked = false;
    loop {
        let typed = keys.wait(pace.wait(began.elapsed()));
        if shared.over.load(Ordering::Relaxed) {
            return;
        }
        // Once: a key that is held down must not end the run at once, as a second Ctrl-C does.
        if !asked && typed.iter().any(|key| matches!(key, b'q' | b'Q')) {
            asked = true;
            interrupt::ask();
        }
        if !pace.due(began.elapsed(), FRAME_EVERY) {
            continue;
        }
        let view = Arc::clone(&locked(&shared.newest));
        let Some(size) = screen::size() else { continue };
        let frame = frames.frame(size, |buffer| {
            draw(view.as_ref(), began.elapsed(), interrupt::asked(), notes, buffer, theme);
        });
        // A terminal that cannot be written to is gone.
        if !frame.is_ok_and(|frame| screen::show(&frame)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_does_not_wait_for_the_drawing_thread() {
        let shared = Shared { newest: Mutex::new(Arc::new(1)), over: AtomicBool::new(false) };
        let taking = shared.newest.lock().unwrap();
        // Were it to wait, it would do so for ever: the lock is this thread's own.
        shared.publish(&2);
        assert_eq!(**taking, 1);
        drop(taking);
        shared.publish(&3);
        assert_eq!(**shared.newest.lock().unwrap(), 3);
    }
}
