//! Each field of a policy file has its effect on requests, through a router.

mod answers;
mod conduct;
mod file;
mod key;
mod locks;
mod matching;
mod permits;
mod policy_service;
mod time;

use lock_tower::policy_file::PolicyFile;

const TESTS: &str = concat!(
    include_str!("answers.rs"),
    include_str!("conduct.rs"),
    include_str!("file.rs"),
    include_str!("key.rs"),
    include_str!("locks.rs"),
    include_str!("matching.rs"),
    include_str!("permits.rs"),
    include_str!("time.rs"),
);

/// A field is found in the schema, which is made of the tables that the file is read by.
#[test]
fn every_field_has_a_test_of_its_name() {
    let schema = PolicyFile::schema();
    let tables = schema["$defs"].as_object().unwrap().iter();
    let tables = tables.map(|(name, table)| (name.as_str(), table)).chain([("file", &schema)]);
    let mut missing = Vec::new();
    let mut fields = 0;
    for (table, object) in tables {
        for field in object["properties"].as_object().unwrap().keys() {
            fields += 1;
            // A field that is legal in the defaults is tried in both places.
            let test = match table {
                "defaults" => format!("both(r#\"{field} = "),
                table => format!("fn {table}_{field}()"),
            };
            if !TESTS.contains(&test) {
                missing.push(test);
            }
        }
    }
    assert!(missing.is_empty(), "no test: {missing:#?}");
    assert!(fields > 60, "{fields}");
}
