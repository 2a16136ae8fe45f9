//! Paths of locks: the prefix is a folder, and `/` in a key separates folders.

use lock_store::{LockKey, Unsupported};

use super::names::ContenderName;

/// Where the locks of a client are, below the chroot of its URL.
#[derive(Debug, Clone)]
pub(crate) struct Root(String);

impl Root {
    /// `lock:` is the folder `/lock`; no prefix is the chroot itself.
    pub(crate) fn new(prefix: &str) -> Result<Self, Unsupported> {
        let folder = prefix.trim_end_matches([':', '/']);
        if folder.is_empty() {
            return Ok(Self(String::new()));
        }
        check(folder, &format!("the prefix \"{folder}\""))?;
        Ok(Self(format!("/{folder}")))
    }

    /// The folder of all locks; the chroot itself is `/`.
    pub(crate) fn folder(&self) -> &str {
        if self.0.is_empty() { "/" } else { &self.0 }
    }

    /// # Errors
    ///
    /// The key is not a path.
    pub(crate) fn path_of(&self, key: &LockKey) -> Result<String, Unsupported> {
        // Without the key: this error is logged, and a client of a service may have chosen it.
        check(key.as_str(), "the key")?;
        Ok(format!("{}/{}", self.0, key.as_str()))
    }

    /// The key of a path below this folder.
    pub(crate) fn key_of(&self, path: &str) -> Option<LockKey> {
        let key = path.strip_prefix(self.0.as_str())?.strip_prefix('/')?;
        LockKey::try_from(key).ok()
    }
}

/// Refuses paths that ZooKeeper refuses, and those that would name another znode than they seem to.
fn check(path: &str, what: &str) -> Result<(), Unsupported> {
    let refuse = |why: &str| {
        Err(Unsupported::new(format!(
            "{what} is a path in ZooKeeper, and {why}; change it, or percent-encode its values"
        )))
    };
    if path.split('/').any(str::is_empty) {
        return refuse(
            "a path has no empty part: no / at its beginning or end, and no two in a row",
        );
    }
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return refuse("no part of a path is . or ..");
    }
    // Below a key that is a lock itself, its folder would count as a contender that never leaves.
    if path.split('/').any(|part| ContenderName::parse(part).is_some()) {
        return refuse(
            "no part of it may end as a contender's znode does, such as lock-0000000001 or \
             __lock__0000000001",
        );
    }
    // Its check is one of UTF-16: nothing beyond the first 65,536 characters passes it.
    let is_refused =
        |c: char| c.is_control() || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..);
    if path.contains(is_refused) {
        return refuse(
            "ZooKeeper refuses control characters, emoji and other characters beyond U+FFEF",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(prefix: &str, key: &str) -> Result<String, Unsupported> {
        Root::new(prefix)?.path_of(&LockKey::try_from(key).expect("a key"))
    }

    #[test]
    fn the_prefix_is_a_folder() {
        assert_eq!(path("lock:", "order:42"), Ok("/lock/order:42".to_owned()));
        assert_eq!(path("", "app/orders/42"), Ok("/app/orders/42".to_owned()));
        assert_eq!(path("app/locks/", "a"), Ok("/app/locks/a".to_owned()));
        assert_eq!(path("lock:", "door:lock-7"), Ok("/lock/door:lock-7".to_owned()));
        let root = Root::new("lock:").expect("a folder");
        assert_eq!(root.key_of("/lock/a/b").expect("a key").as_str(), "a/b");
        assert_eq!(root.folder(), "/lock");
        assert_eq!(Root::new("").expect("the chroot").folder(), "/");
    }

    #[test]
    fn what_is_no_path_is_refused_with_a_reason() {
        let forged = ["a/lock-0000000000", "a/_c_x-__WRIT__0000000000", "x-lease--2147483648"];
        let no_paths = ["/a", "a/", "a//b", "a/./b", "..", "a\u{fff0}", "🔒"];
        for key in no_paths.into_iter().chain(forged) {
            let refused = path("lock:", key).expect_err(key).to_string();
            assert!(refused.contains("the key is a path"), "{refused}");
            assert!(!forged.iter().any(|key| refused.contains(key)), "{refused}");
        }
        assert!(path("/abs", "a").is_err());
    }
}
