//! The texts that are run: those that Redis gets, or with one file of them broken on purpose.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS, ScriptText};

/// Every script by name, as Redis would get it.
#[derive(Debug, Clone)]
pub struct Texts {
    id: u64,
    scripts: Arc<[(&'static str, Cow<'static, str>)]>,
}

impl Texts {
    /// What Redis gets.
    #[must_use]
    pub fn real() -> Self {
        let scripts = all().map(|script| (script.name, Cow::Borrowed(script.text)));
        Self::new(scripts.collect())
    }

    /// What Redis would get if a file of the scripts, `lib/waiters` say, had another text.
    ///
    /// # Panics
    ///
    /// When no script has the file in it.
    #[must_use]
    pub fn with_file(file: &str, text: &str) -> Self {
        let before = file_text(file);
        let mut found = false;
        let scripts = all().map(|script| {
            if !script.text.contains(&before) {
                return (script.name, Cow::Borrowed(script.text));
            }
            found = true;
            (script.name, Cow::Owned(script.text.replace(&before, text)))
        });
        let texts = Self::new(scripts.collect());
        assert!(found, "no script has {file} in it");
        texts
    }

    fn new(scripts: Vec<(&'static str, Cow<'static, str>)>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), scripts: scripts.into() }
    }

    /// Tells these texts from all others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.scripts.iter().map(|(name, text)| (*name, text.as_ref()))
    }
}

/// Of both wires.
fn all() -> impl Iterator<Item = &'static ScriptText> {
    SCRIPTS.iter().chain(NATIVE_SCRIPTS)
}

/// What the names of the native wire's files begin with.
pub const NATIVE: &str = "native/";

/// Where the scripts are, of Redisson's wire and of both, or of the native one alone.
#[must_use]
pub fn folder(native: bool) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lock-core/src/store/redis");
    folder.join(if native { "native/scripts" } else { "scripts" })
}

/// A file of the scripts, `lib/waiters` or `native/lib/line` say.
///
/// # Panics
///
/// When there is none of this name.
#[must_use]
pub fn file_text(file: &str) -> String {
    let native = file.strip_prefix(NATIVE);
    let path = folder(native.is_some()).join(format!("{}.lua", native.unwrap_or(file)));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
