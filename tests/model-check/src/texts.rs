//! The texts that are run: those that Redis gets, or with one file of them broken on purpose.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS, ScriptText, sent_text};

/// Every script by name, as Redis would get it.
#[derive(Debug, Clone)]
pub struct Texts {
    id: u64,
    scripts: Arc<[(&'static str, String)]>,
}

impl Texts {
    /// What Redis gets.
    #[must_use]
    pub fn real() -> Self {
        let scripts = all().map(|script| (script.name, sent_text(script.text)));
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
            found |= script.text.contains(&before);
            (script.name, sent_text(&script.text.replace(&before, text)))
        });
        let texts = Self::new(scripts.collect());
        assert!(found, "no script has {file} in it");
        texts
    }

    /// The same, if the value of a lock had a line of at most `most` characters.
    ///
    /// # Panics
    ///
    /// When no script says how many there are.
    #[must_use]
    pub(crate) fn with_most_in_value(&self, most: usize) -> Self {
        let (limit, changed) = ("'lt2', 50, 4096", format!("'lt2', 50, {most}"));
        assert!(self.each().any(|(_, text)| text.contains(limit)), "no script has {limit}");
        // It moves back when one waiter is left.
        let replaced = |text: &str| {
            text.replace(limit, &changed).replace("> MOST_IN_VALUE / 128 then", "> 1 then")
        };
        Self::new(self.each().map(|(name, text)| (name, replaced(text))).collect())
    }

    fn new(scripts: Vec<(&'static str, String)>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), scripts: scripts.into() }
    }

    /// Tells these texts from all others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.scripts.iter().map(|(name, text)| (*name, text.as_str()))
    }
}

/// Of both wires.
fn all() -> impl Iterator<Item = &'static ScriptText> {
    SCRIPTS.iter().chain(NATIVE_SCRIPTS)
}

/// What the names of the native wire's files begin with.
pub const NATIVE: &str = "native/";

/// Where the scripts are, and what their names begin with: of Redisson's wire, of both wires, and of
/// the native one.
#[must_use]
pub fn folders() -> [(PathBuf, &'static str); 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lock-core/src/redis");
    [("redisson/scripts", ""), ("scripts", ""), ("native/scripts", NATIVE)]
        .map(|(inside, beginning)| (folder.join(inside), beginning))
}

/// A file of the scripts, `lib/waiters` or `native/lib/line` say.
///
/// # Panics
///
/// When there is none of this name.
#[must_use]
pub fn file_text(file: &str) -> String {
    let mut texts = folders().into_iter().filter_map(|(folder, beginning)| {
        fs::read_to_string(folder.join(format!("{}.lua", file.strip_prefix(beginning)?))).ok()
    });
    texts.next().unwrap_or_else(|| panic!("there is no script {file}"))
}
