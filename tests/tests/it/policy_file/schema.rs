//! The schema accepts what the reader accepts, as far as a schema can.

use std::{env, fs, path::Path};

use lock_tower::policy_file::PolicyFile;
use serde_json::Value;

use crate::policy_file::files::{File, files};

fn json(file: &File) -> Option<Value> {
    toml::from_str(&file.text).ok()
}

#[test]
fn the_published_schema_is_the_one_in_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock-tower/policy.schema.json");
    let schema = format!("{}\n", serde_json::to_string_pretty(&PolicyFile::schema()).unwrap());
    if env::var_os("LOCK_TOWER_OVERWRITE").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), schema, "LOCK_TOWER_OVERWRITE=1 writes it");
}

#[test]
fn valid_files_match_the_schema() {
    let schema = jsonschema::validator_for(&PolicyFile::schema()).unwrap();
    for file in files("valid") {
        let errors: Vec<_> =
            schema.iter_errors(&json(&file).unwrap()).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", file.name);
    }
}

#[test]
fn invalid_files_fail_the_schema_where_it_can_check() {
    let schema = jsonschema::validator_for(&PolicyFile::schema()).unwrap();
    let valid: Vec<_> = files("invalid")
        .into_iter()
        .filter(|file| json(file).is_some_and(|json| schema.is_valid(&json)))
        .map(|file| file.name)
        .collect();
    assert_eq!(valid, BEYOND_A_SCHEMA);
}

/// So that editors check them.
#[test]
fn the_files_of_the_examples_name_the_schema_and_match_it() {
    let schema = jsonschema::validator_for(&PolicyFile::schema()).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let web = "https://raw.githubusercontent.com/lock-tower/lock-tower/main";
    for (folder, of_repository) in [("observed", "../.."), ("template", web)] {
        let text = fs::read_to_string(examples.join(folder).join("locks.toml")).unwrap();
        let first = format!("#:schema {of_repository}/lock-tower/policy.schema.json");
        assert_eq!(text.lines().next(), Some(first.as_str()), "{folder}");
        let errors: Vec<_> = schema
            .iter_errors(&toml::from_str(&text).unwrap())
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{folder}: {errors:?}");
    }
}

/// The grammar of keys, paths and names, how fields and rules go together, the bounds of durations,
/// and variables.
const BEYOND_A_SCHEMA: &[&str] = &[
    "15-key-placeholder-misspelled.toml",
    "16-key-placeholder-without-parameters.toml",
    "17-key-source-misspelled.toml",
    "18-key-source-unknown.toml",
    "19-key-placeholder-type.toml",
    "20-key-placeholder-option.toml",
    "21-key-placeholder-default.toml",
    "22-key-placeholders-run-together.toml",
    "23-key-not-closed.toml",
    "24-key-in-escapes.toml",
    "25-key-in-three-quotes.toml",
    "26-name-twice.toml",
    "27-name-with-a-space.toml",
    "28-name-too-long.toml",
    "29-rule-unreachable.toml",
    "30-rule-unreachable-by-headers.toml",
    "31-attribute-twice.toml",
    "33-wait-beyond-the-deadline.toml",
    "34-wait-alone-beyond-the-deadline.toml",
    "35-reserve-is-the-deadline.toml",
    "36-lease-too-short.toml",
    "37-lease-beyond-a-year.toml",
    "39-max-hold-never-reached.toml",
    "40-mode-read-without-readers.toml",
    "43-permits.toml",
    "49-missing-key-constant.toml",
    "53-path-without-a-slash.toml",
    "54-path-in-old-syntax.toml",
    "55-path-broken.toml",
    "59-host-with-more.toml",
    "61-variable-not-set.toml",
    "62-variable-broken.toml",
    "63-variable-with-a-wrong-value.toml",
    "71-common-key-of-two-kinds.toml",
    "80-too-many-permits.toml",
    "82-two-spellings-of-a-host.toml",
    "83-hold-at-least-above-max-hold.toml",
    "84-constant-of-another-kind.toml",
    "89-locks-of-two-kinds.toml",
];
