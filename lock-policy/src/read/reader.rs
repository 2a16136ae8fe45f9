//! Reads the fields of the tables from TOML and collects all errors.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    environment::Environment,
    scalar,
    spanned_text::{Text, placed},
    unknown::{fields_of_busy, unknown},
    value::{Fields, Read, Value},
};
use crate::{
    diagnostics::{Diagnostic, SourceFile},
    schema::{Field, Table, ValueType},
};

pub(crate) struct Reader<'r> {
    pub(crate) source: &'r SourceFile,
    pub(crate) environment: Environment<'r>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    pub(crate) fn table(&mut self, table: Table, toml: &DeTable<'_>, span: Range<usize>) -> Fields {
        let mut fields = Fields { span: span.clone(), ..Fields::default() };
        let before = self.diagnostics.len();
        for (key, value) in toml {
            match table.fields().find(|field| field.name == key.get_ref()) {
                Some(field) => {
                    fields.written.push(field.name);
                    let read = self.field(field, key.span(), value);
                    fields.read.extend(read.map(|read| (field.name, read)));
                }
                None => self.diagnostics.push(unknown(table, key)),
            }
        }
        for field in table.fields().filter(|field| field.default.is_none()) {
            if !fields.written.contains(&field.name) {
                let what = format!("{} has no `{}`", table.title(), field.name);
                let help = format!("`{}` is {}", field.name, field.value_type.expected());
                self.diagnostics.push(Diagnostic::new(span.clone(), what).help(help));
            }
        }
        fields.is_whole = self.diagnostics.len() == before;
        fields
    }

    fn field(
        &mut self,
        field: &Field,
        key: Range<usize>,
        toml: &Spanned<DeValue<'_>>,
    ) -> Option<Read> {
        let span = toml.span();
        let value = self.value(field.name, field.value_type, toml)?;
        let shown = value.shown().unwrap_or_else(|| self.source.text[span.clone()].to_owned());
        Some(Read { key, span, shown, value })
    }

    fn value(
        &mut self,
        name: &str,
        value_type: ValueType,
        toml: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        match (value_type, toml.get_ref()) {
            (ValueType::Texts(_) | ValueType::Words(_), DeValue::Array(items)) => {
                let texts: Vec<Option<Text>> =
                    items.iter().map(|item| self.text(name, value_type, item)).collect();
                if texts.is_empty() {
                    self.empty(name, value_type, toml);
                    return None;
                }
                let texts: Vec<Text> = texts.into_iter().collect::<Option<_>>()?;
                if let ValueType::Words(words) = value_type {
                    return self.words(name, words, &texts);
                }
                Some(Value::Texts(texts))
            }
            (ValueType::Table(table), DeValue::Table(inner)) => {
                Some(Value::Table(self.table(table, inner, toml.span())))
            }
            (
                ValueType::WordOrTable(_, table) | ValueType::OneOrMore(table),
                DeValue::Table(inner),
            ) => {
                let inner = self.table(table, inner, toml.span());
                Some(match value_type {
                    ValueType::OneOrMore(_) => Value::Tables(vec![inner]),
                    _ => Value::Table(inner),
                })
            }
            (ValueType::Tables(table) | ValueType::OneOrMore(table), DeValue::Array(items)) => {
                if items.is_empty() && table == Table::Lock {
                    self.empty(name, value_type, toml);
                    return None;
                }
                let mut tables = Vec::new();
                for item in items.iter() {
                    match item.get_ref() {
                        DeValue::Table(inner) => {
                            tables.push(self.table(table, inner, item.span()));
                        }
                        _ => self.wrong_type(name, value_type, item),
                    }
                }
                Some(Value::Tables(tables))
            }
            (_, DeValue::String(_)) => {
                let text = self.text(name, value_type, toml)?;
                self.take(scalar::of_text(name, value_type, text))
            }
            (_, DeValue::Integer(number)) => {
                let number = i128::from_str_radix(number.as_str(), number.radix()).ok();
                match scalar::of_number(name, value_type, number, toml.span()) {
                    Some(value) => self.take(value),
                    None => {
                        self.wrong_type(name, value_type, toml);
                        None
                    }
                }
            }
            (ValueType::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
            _ => {
                self.wrong_type(name, value_type, toml);
                None
            }
        }
    }

    fn take(&mut self, value: Result<Value, Diagnostic>) -> Option<Value> {
        value.map_err(|diagnostic| self.diagnostics.push(diagnostic)).ok()
    }

    /// Reads a text; `None` if it is not one, or a variable in it could not be replaced.
    fn text(
        &mut self,
        name: &str,
        value_type: ValueType,
        toml: &Spanned<DeValue<'_>>,
    ) -> Option<Text> {
        let Some(value) = toml.get_ref().as_str() else {
            self.wrong_type(name, value_type, toml);
            return None;
        };
        let span = toml.span();
        let text = placed(&self.source.text[span.clone()], span.start, value);
        let before = self.diagnostics.len();
        let text = self.environment.substitute(&text, &mut self.diagnostics);
        (self.diagnostics.len() == before).then(|| Text::new(text, span))
    }

    fn words(
        &mut self,
        name: &str,
        words: &'static [&'static str],
        texts: &[Text],
    ) -> Option<Value> {
        let mut found: Vec<&'static str> = Vec::new();
        for text in texts {
            match scalar::word(name, ValueType::Word(words), words, text) {
                Ok(word) if found.contains(&word) => {
                    let what = format!("\"{word}\" is given twice in `{name}`");
                    let diagnostic = Diagnostic::new(text.span.clone(), what);
                    self.diagnostics.push(diagnostic.help("remove one of them".to_owned()));
                }
                Ok(word) => found.push(word),
                Err(diagnostic) => self.diagnostics.push(diagnostic),
            }
        }
        (found.len() == texts.len()).then_some(Value::Words(found))
    }

    fn empty(&mut self, name: &str, value_type: ValueType, toml: &Spanned<DeValue<'_>>) {
        let diagnostic = Diagnostic::new(toml.span(), format!("`{name}` is empty"));
        self.diagnostics.push(diagnostic.help(format!("it is {}", value_type.expected())));
    }

    fn wrong_type(&mut self, name: &str, value_type: ValueType, toml: &Spanned<DeValue<'_>>) {
        let found = match toml.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let what = format!("`{name}` cannot be {found}");
        let help = match toml.get_ref() {
            DeValue::Table(old) if name == "on_busy" => fields_of_busy(old),
            _ => format!("it is {}", value_type.expected()),
        };
        self.diagnostics.push(Diagnostic::new(toml.span(), what).help(help));
    }
}
