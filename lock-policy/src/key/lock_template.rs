use http::Method;
use lock_core::{__private::LockSpec, Kind, Mode};

use crate::settings::LockMode;

/// One of several locks of different kinds that a request has, all or none: the template of its key,
/// and which lock it is.
///
/// ```
/// use lock_policy::LockTemplate;
///
/// let locks = [
///     LockTemplate::semaphore("exports", 8),
///     LockTemplate::semaphore("exports:{tenant:lower}", 2),
///     LockTemplate::write("report:{id:u64}"),
/// ];
/// # let _ = locks;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockTemplate {
    pub(super) template: String,
    pub(super) lock: TemplateLock,
}

/// Which lock the keys of a template have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateLock {
    pub(crate) kind: Kind,
    pub(crate) mode: LockMode,
    pub(crate) permits: u32,
    pub(crate) weight: u32,
}

impl LockTemplate {
    fn new(template: impl Into<String>, mode: LockMode) -> Self {
        let lock = TemplateLock { kind: Kind::ReadWrite, mode, permits: 0, weight: 1 };
        Self { template: template.into(), lock }
    }

    #[cfg(feature = "file")]
    pub(crate) fn of(template: String, lock: TemplateLock) -> Self {
        Self { template, lock }
    }

    #[cfg(feature = "file")]
    pub(crate) fn kind_of_lock(&self) -> Kind {
        self.lock.kind
    }

    /// A lock that reads or writes [by the request's method](LockMode::ByMethod).
    pub fn by_method(template: impl Into<String>) -> Self {
        Self::new(template, LockMode::ByMethod)
    }

    /// A lock that reads, whatever the method.
    pub fn read(template: impl Into<String>) -> Self {
        Self::new(template, LockMode::Read)
    }

    /// A lock that writes, whatever the method.
    pub fn write(template: impl Into<String>) -> Self {
        Self::new(template, LockMode::Write)
    }

    /// One of this many permits, which requests with the same key share in all processes together.
    pub fn semaphore(template: impl Into<String>, permits: u32) -> Self {
        let mut semaphore = Self::new(template, LockMode::Write).kind(Kind::Semaphore);
        semaphore.lock.permits = permits;
        semaphore
    }

    /// Sets how many permits of a semaphore the request takes. Default: 1.
    #[must_use]
    pub fn weight(mut self, permits: u32) -> Self {
        self.lock.weight = permits;
        self
    }

    /// Sets another kind of lock. Default: [`Kind::ReadWrite`].
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.lock.kind = kind;
        self
    }
}

impl TemplateLock {
    /// Returns the lock of a request with this method.
    pub(super) fn on(self, method: &Method) -> LockSpec {
        let Self { kind, mode, permits, weight } = self;
        LockSpec { kind, mode: mode.on(kind, method), permits, weight }
    }
}

/// Returns the stronger mode of several locks.
pub(super) fn strongest(locks: impl IntoIterator<Item = LockSpec>) -> Mode {
    let writes = locks.into_iter().any(|lock| lock.mode == Mode::Write);
    if writes { Mode::Write } else { Mode::Read }
}
