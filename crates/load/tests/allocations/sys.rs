//! An allocator that counts what a load's workers ask of it: the one unsafe module of these tests.
//!
//! It allocates nothing itself, and asks the kernel for the calling thread's name at each call: a thread
//! gets its name some allocations after its beginning, so that an answer kept from then could be wrong.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of workers begin so.
const WORKER: &[u8] = b"prony-load-";

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
pub(crate) struct Counting;

/// What workers have asked for so far, over the process: memory, or more of it.
pub(crate) fn allocations_of_workers() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

fn count() {
    let mut name = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, its NUL among them, to the one pointer it takes.
    let got = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr(), 0, 0, 0) };
    if got == 0 && name.starts_with(WORKER) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator as it came, and counting touches none of the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the contract is the same, and the caller's to keep.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
