//! Generates the JSON Schema from the tables of fields.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    fields::OF_EACH_LOCK,
    table::{Field, Table},
    value_type::ValueType,
};

/// Matches a text whose value depends on the environment.
const VARIABLE: &str = r"\$\{";

pub(crate) fn schema() -> Value {
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::File);
    let definitions: Map<String, Value> =
        tables.map(|table| (definition(table).to_owned(), object(table))).collect();
    let mut schema = object(Table::File);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Policy file of lock-tower");
    schema["$defs"] = Value::Object(definitions);
    schema
}

fn definition(table: Table) -> &'static str {
    match table {
        Table::File => "file",
        Table::Request => "request",
        Table::Defaults => "defaults",
        Table::Policy => "policy",
        Table::Match => "match",
        Table::Header => "header",
        Table::Lock => "lock",
        Table::PermitsFor => "permits_for",
        Table::Missing => "on_missing_key",
        Table::Answers => "answers",
        Table::Answer => "answer",
    }
}

fn object(table: Table) -> Value {
    let properties: Map<String, Value> =
        table.fields().map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<_> =
        table.fields().filter(|field| field.default.is_none()).map(|field| field.name).collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match table {
        Table::Policy => {
            let attribute = json!({
                "properties": { "match": { "required": ["attribute"] } },
                "required": ["match"],
            });
            let of_each_lock = OF_EACH_LOCK.map(|name| json!({ "required": [name] }));
            let one_key = [
                json!({ "required": ["key"] }),
                json!({ "required": ["keys"] }),
                json!({ "required": ["locks"], "not": { "anyOf": of_each_lock } }),
            ];
            object["if"] = attribute;
            object["then"] = json!({ "not": { "anyOf": not_on_attributes() } });
            object["else"] = json!({ "oneOf": one_key });
        }
        Table::Match => {
            let alone = json!({ "required": ["attribute"], "maxProperties": 1 });
            object["anyOf"] = json!([alone, { "not": { "required": ["attribute"] } }]);
        }
        _ => {}
    }
    object
}

fn not_on_attributes() -> Vec<Value> {
    let fields = Table::Policy.fields().filter(|field| field.not_on_attributes.is_some());
    fields.map(|field| json!({ "required": [field.name] })).collect()
}

fn property(field: &Field) -> Value {
    let mut property = value_type(field.value_type);
    let default = field.default.map(|default| format!(" Default: {default}."));
    property["description"] = json!(format!("{}{}", field.doc, default.unwrap_or_default()));
    property
}

fn value_type(value_type: ValueType) -> Value {
    let reference = |table| json!({ "$ref": format!("#/$defs/{}", definition(table)) });
    match value_type {
        ValueType::Version => json!({ "const": 1 }),
        ValueType::Text(example) => {
            json!({ "type": "string", "minLength": 1, "examples": [example] })
        }
        ValueType::Texts(_) => {
            let text = json!({ "type": "string", "minLength": 1 });
            json!({ "type": "array", "items": text, "minItems": 1, "uniqueItems": true })
        }
        ValueType::Word(words) => word(words),
        ValueType::Words(words) => json!({
            "type": "array",
            "items": word(words),
            "minItems": 1,
            "uniqueItems": true,
        }),
        ValueType::Duration(least) => {
            let examples = if least == Duration::ZERO { ["0s", "2s"] } else { ["250ms", "2s"] };
            let pattern = format!("^[0-9]+(ms|s|m|h)$|{VARIABLE}");
            json!({ "type": "string", "pattern": pattern, "examples": examples })
        }
        ValueType::Flag => json!({ "type": "boolean" }),
        ValueType::Count => json!({ "type": "integer", "minimum": 0 }),
        ValueType::Status(least) => {
            json!({ "type": "integer", "minimum": least, "maximum": 599 })
        }
        ValueType::Enforce => {
            let pattern = format!("^(on|shadow|off|0*(100|[0-9]{{1,2}})%)$|{VARIABLE}");
            json!({ "type": "string", "pattern": pattern, "examples": ["shadow", "25%"] })
        }
        ValueType::Table(table) => reference(table),
        ValueType::Tables(table) => json!({ "type": "array", "items": reference(table) }),
        ValueType::OneOrMore(table) => {
            json!({ "anyOf": [reference(table), { "type": "array", "items": reference(table) }] })
        }
        ValueType::WordOrTable(words, table) => json!({ "anyOf": [word(words), reference(table)] }),
    }
}

fn word(words: &[&str]) -> Value {
    json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": VARIABLE }] })
}
