//! A mutex's value, also after a thread that had it panicked.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// What a mutex guards; a thread that panicked with it left nothing half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn if_free<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guarded) => Some(guarded),
        Err(TryLockError::Poisoned(guarded)) => Some(guarded.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
