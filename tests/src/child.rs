//! A child process that cannot outlive its owner.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Killed and reaped on drop.
///
/// A signal is sent under the lock that reaping needs, so it never reaches another process that got the
/// process id of the dead child.
#[derive(Debug)]
pub(crate) struct OwnedChild {
    child: Mutex<Child>,
}

impl OwnedChild {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        Ok(Self::from(command.spawn()?))
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn id(&self) -> u32 {
        self.lock().id()
    }

    /// Returns its exit status, or `None` while it runs or is stopped.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.lock().try_wait().expect("cannot wait for a child")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let mut child = self.lock();
        if let Some(status) = child.try_wait().expect("cannot wait for a child") {
            panic!("no {signal:?} to a process that has ended: {status}");
        }
        kill_process(Pid::from_child(&child), signal).expect("cannot signal a child");
    }

    /// Sends SIGSTOP; on return the process is stopped.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        let pid = Pid::from_child(&self.lock());
        // The signal is delivered a moment after `kill` returns. NOWAIT leaves the exit status for the
        // reaping call.
        let states = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let state = waitid(WaitId::Pid(pid), states).expect("cannot wait for a child");
        assert!(
            state.is_some_and(|state| state.stopped()),
            "the process ended instead of stopping"
        );
    }

    /// Sends SIGCONT.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends SIGQUIT, so that it can clean up, and SIGKILL if it has not ended after `patience`.
    pub(crate) fn quit(&self, patience: Duration) {
        let end = Instant::now() + patience;
        {
            let mut child = self.lock();
            if let Ok(None) = child.try_wait() {
                // Fails only for a child that has already ended.
                let _ = kill_process(Pid::from_child(&child), Signal::QUIT);
            }
        }
        while matches!(self.lock().try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        self.kill();
    }

    /// Sends SIGKILL, which ends a stopped process too; on return it has ended and its ports are free.
    pub(crate) fn kill(&self) {
        let mut child = self.lock();
        // Both fail only for a child that has already ended.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl From<Child> for OwnedChild {
    fn from(child: Child) -> Self {
        Self { child: Mutex::new(child) }
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        self.kill();
    }
}
