//! `LOCK_TOWER_ENFORCE`: overrides files and code for an operator.

use std::{collections::BTreeMap, env, sync::LazyLock};

use super::enums::Enforce;

/// The environment variable: `on`, `shadow` or `off` for every lock, or `name=off,other=shadow`.
pub const VARIABLE: &str = "LOCK_TOWER_ENFORCE";

static SWITCH: LazyLock<KillSwitch> = LazyLock::new(|| {
    let Ok(text) = env::var(VARIABLE) else {
        return KillSwitch::default();
    };
    KillSwitch::parse(&text).unwrap_or_else(|why| {
        tracing::error!(target: "lock_tower", "{VARIABLE} is ignored: {why}");
        KillSwitch::default()
    })
});

/// Returns how the lock of that name is enforced: as the environment sets, or else as configured.
/// The environment is read once.
pub fn in_force(name: &str, configured: Enforce) -> Enforce {
    SWITCH.setting(name).unwrap_or(configured)
}

/// Reads the environment, and logs what overrides a file with these names.
pub fn announce<'n>(names: impl Iterator<Item = &'n str>) {
    if *SWITCH == KillSwitch::default() {
        return;
    }
    let unknown = SWITCH.unknown(names);
    let (all, named) = (&SWITCH.all, &SWITCH.named);
    tracing::warn!(target: "lock_tower", ?all, ?named, "{VARIABLE} overrides the policy file");
    if !unknown.is_empty() {
        tracing::warn!(
            target: "lock_tower",
            "{VARIABLE} names locks that the policy file does not have: {}; correct for a lock that \
             is set in code; a misspelt name has no effect",
            unknown.join(", ")
        );
    }
}

#[derive(Debug, Default, PartialEq)]
struct KillSwitch {
    all: Option<Enforce>,
    named: BTreeMap<String, Enforce>,
}

impl KillSwitch {
    fn setting(&self, name: &str) -> Option<Enforce> {
        self.named.get(name).copied().or(self.all)
    }

    fn unknown<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&str> {
        let known: Vec<_> = names.collect();
        self.named.keys().map(String::as_str).filter(|name| !known.contains(name)).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut switch = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, word) = match part.rsplit_once('=') {
                Some((name, word)) => (Some(name.trim()), word.trim()),
                None => (None, part),
            };
            let enforce = match word {
                "on" => Enforce::On,
                "shadow" => Enforce::Shadow,
                "off" => Enforce::Off,
                _ => {
                    return Err(format!(
                        "`{}` is none of on, shadow and off; write `off`, or `order-write=off`",
                        word.escape_debug()
                    ));
                }
            };
            let before = match name {
                Some(name) => switch.named.insert(name.to_owned(), enforce),
                None => switch.all.replace(enforce),
            };
            if before.is_some() {
                return Err(format!("`{}` is set twice", name.unwrap_or("all").escape_debug()));
            }
        }
        Ok(switch)
    }
}

#[cfg(test)]
mod tests {
    use super::KillSwitch;
    use crate::settings::Enforce;

    #[test]
    fn for_all_or_by_name() {
        let parse = |text| KillSwitch::parse(text).expect(text);
        assert_eq!(parse("").setting("a"), None);
        assert_eq!(parse("off").setting("a"), Some(Enforce::Off));
        let some = parse("a=off, orders::b=shadow");
        assert_eq!(some.setting("a"), Some(Enforce::Off));
        assert_eq!(some.setting("orders::b"), Some(Enforce::Shadow));
        assert_eq!(some.setting("c"), None);
        assert_eq!(parse("shadow,a=on").setting("a"), Some(Enforce::On));
        assert_eq!(parse("shadow,a=on").setting("b"), Some(Enforce::Shadow));
    }

    #[test]
    fn names_that_a_file_does_not_have() {
        let switch = KillSwitch::parse("order=off,oder=off,shadow").expect("it is right");
        assert_eq!(switch.unknown(["order", "report"].into_iter()), ["oder"]);
    }

    #[test]
    fn malformed_values_are_refused_with_the_reason() {
        for text in ["no", "a=", "a=50%", "on,off", "a=on,a=off", "a off"] {
            let why = KillSwitch::parse(text).expect_err(text);
            assert!(!why.is_empty());
        }
    }
}
