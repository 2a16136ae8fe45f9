//! Mutexes that a panic does not poison: the guarded values are consistent between any two
//! statements, and one task that panics must not make every other task fail.

use std::sync::{MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};

/// [`std::sync::Mutex`] without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks it; blocks the thread until it is free.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`std::sync::RwLock`] without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    /// Locks it for reading; blocks the thread until no writer has it.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it for writing; blocks the thread until it is free.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_panic_under_a_lock_leaves_it_usable() {
        static COUNT: Mutex<u32> = Mutex::new(0);
        static TEXT: RwLock<String> = RwLock::new(String::new());
        let panicked = thread::spawn(|| {
            let (mut count, mut text) = (COUNT.lock(), TEXT.write());
            *count += 1;
            text.push('x');
            panic!("under both locks");
        });
        panicked.join().expect_err("it panics");
        assert_eq!(*COUNT.lock(), 1);
        assert_eq!(*TEXT.read(), "x");
    }
}
