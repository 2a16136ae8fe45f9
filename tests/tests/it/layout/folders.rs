//! The order of the folders of each crate: a folder imports those below it, never one above.

use std::{collections::BTreeSet, path::Path};

use super::imports::{Import, imports};

/// The folders of a crate.
struct Layout {
    name: &'static str,
    /// From the top down. Only what is named here is looked at.
    order: &'static [&'static str],
    /// Whether every folder and file of the crate has to be in the order.
    complete: bool,
    exceptions: &'static [Exception],
}

/// An import that runs upward all the same.
struct Exception {
    from: &'static str,
    to: &'static str,
    #[allow(dead_code, reason = "for the reader of this table")]
    reason: &'static str,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "lock-core",
        order: &[
            "client", "acquire", "operate", "guard", "hold", "report", "gate", "redis", "types",
        ],
        complete: true,
        exceptions: &[],
    },
    Layout {
        name: "lock-store",
        order: &[
            "memory",
            "connect",
            "lock_store",
            "store_admin",
            "notify",
            "outcome",
            "snapshot",
            "command",
            "runtime",
            "types",
        ],
        complete: true,
        exceptions: &[],
    },
    Layout {
        name: "lock-policy",
        order: &[
            "file",
            "explain",
            "rule",
            "matching",
            "read",
            "schema",
            "diagnostics",
            "key",
            "settings",
        ],
        complete: true,
        exceptions: &[],
    },
    Layout {
        name: "lock-tower",
        order: &[
            "testing",
            "policies",
            "request_timeout",
            "request_scope",
            "request_lock",
            "attribute",
            "extract",
            "pipeline",
            "enforcement",
            "request",
            "lock_settings",
            "outcome",
            "request_key",
            "telemetry",
            "fenced_table",
        ],
        complete: true,
        exceptions: &[],
    },
];

/// Re-exports, which know everything; and what only tests of the crate see.
const EXEMPT: [&str; 4] = ["lib", "__private", "test_util", "tests"];

#[test]
fn imports_run_downward() {
    let mut wrong = Vec::new();
    for layout in LAYOUTS {
        wrong.extend(layout.upward());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    for layout in LAYOUTS {
        let imports = layout.imports();
        for Exception { from, to, .. } in layout.exceptions {
            let used = imports.iter().any(|import| import.file == *from && import.target == *to);
            assert!(used, "{}: {from} does not import {to} any more", layout.name);
        }
        assert!(layout.exceptions.len() <= 3, "{}: more than three exceptions", layout.name);
    }
}

impl Layout {
    fn imports(&self) -> Vec<Import> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.name).join("src");
        imports(&root)
    }

    fn rank(&self, folder: &str) -> Option<usize> {
        self.order.iter().position(|known| *known == folder)
    }

    /// What runs upward, or is not in the order, in words.
    fn upward(&self) -> Vec<String> {
        let mut wrong = BTreeSet::new();
        for import in self.imports() {
            let Import { file, line, folder, target } = &import;
            if folder == target || EXEMPT.contains(&folder.as_str()) {
                continue;
            }
            let place = format!("{}/src/{file}:{line}", self.name);
            match (self.rank(folder), self.rank(target)) {
                (Some(from), Some(to)) if from > to && !self.allows(&import) => {
                    wrong.insert(format!("{place}: `{folder}` imports `{target}`, which is above"));
                }
                (Some(_), Some(_)) => {}
                _ if !self.complete => {}
                (None, _) => {
                    wrong.insert(format!("{place}: `{folder}` has no place in the order"));
                }
                (_, None) => {
                    wrong
                        .insert(format!("{place}: `crate::{target}` names no folder of the order"));
                }
            }
        }
        wrong.into_iter().collect()
    }

    fn allows(&self, import: &Import) -> bool {
        let mut exceptions = self.exceptions.iter();
        exceptions.any(|known| known.from == import.file && known.to == import.target)
    }
}
