//! Each field that the defaults may have, by its type in the schema: the reader and the schema accept
//! a value of the type, and refuse another.

use lock_tower::policy_file::PolicyFile;
use serde_json::{Value, json};

/// Returns a value of a field's type; `None` if it is a table.
fn example(field: &Value) -> Option<Value> {
    if let Some(of_any) = field["anyOf"].as_array() {
        return of_any.iter().find_map(example);
    }
    let listed = ["examples", "enum"].iter().find_map(|list| field[list].get(0));
    listed.cloned().or_else(|| match field["type"].as_str()? {
        "boolean" => Some(json!(true)),
        "integer" => Some(json!(field["minimum"].as_u64().unwrap_or(0).max(1))),
        _ => None,
    })
}

#[test]
fn values_of_its_type_are_accepted_and_others_refused() {
    let schema = PolicyFile::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut fields = 0;
    for (name, field) in schema["$defs"]["defaults"]["properties"].as_object().unwrap() {
        let Some(legal) = example(field) else {
            assert!(field["$ref"].is_string(), "{name}: the test knows no value of {field}");
            continue;
        };
        fields += 1;
        let read = |value: &Value| {
            // Scalars and lists are written in TOML as in JSON.
            let text = format!("version = 1\n[defaults]\n{name} = {value}\n");
            PolicyFile::parse("a.toml", &text).map_err(|errors| errors.to_string())
        };
        let in_file = |value: &Value| json!({ "version": 1, "defaults": { name: value } });
        assert!(read(&legal).is_ok(), "{name} = {legal}");
        assert!(validator.is_valid(&in_file(&legal)), "{name} = {legal}");
        // No field is a list of lists.
        let illegal = json!([[]]);
        let refused = read(&illegal).expect_err(name);
        assert!(refused.starts_with("a.toml:3:"), "{name}: {refused}");
        assert!(!validator.is_valid(&in_file(&illegal)), "{name}");
    }
    assert!(fields > 15, "{fields}");
}
