//! From TOML to the fields of the tables, with everything that is wrong on the way.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    environment::Environment,
    fault::Fault,
    fields::{Field, Table},
    page::Page,
    scalar,
    shape::Shape,
    text::{Text, placed},
    unknown::unknown,
    value::{Fields, Read, Value},
};

pub(super) struct Reader<'r> {
    pub(super) page: &'r Page,
    pub(super) environment: Environment<'r>,
    pub(super) faults: Vec<Fault>,
}

impl Reader<'_> {
    pub(super) fn table(&mut self, table: Table, toml: &DeTable<'_>, span: Range<usize>) -> Fields {
        let mut fields = Fields { span: span.clone(), ..Fields::default() };
        let before = self.faults.len();
        for (key, value) in toml {
            match table.fields().find(|field| field.name == key.get_ref()) {
                Some(field) => {
                    fields.written.push(field.name);
                    let read = self.field(field, key.span(), value);
                    fields.read.extend(read.map(|read| (field.name, read)));
                }
                None => self.faults.push(unknown(table, key)),
            }
        }
        for field in table.fields().filter(|field| field.default.is_none()) {
            if !fields.written.contains(&field.name) {
                let what = format!("{} has no `{}`", table.title(), field.name);
                let help = format!("`{}` is {}", field.name, field.shape.expected());
                self.faults.push(Fault::new(span.clone(), what).help(help));
            }
        }
        fields.is_whole = self.faults.len() == before;
        fields
    }

    fn field(
        &mut self,
        field: &Field,
        key: Range<usize>,
        toml: &Spanned<DeValue<'_>>,
    ) -> Option<Read> {
        let span = toml.span();
        let value = self.value(field.name, field.shape, toml)?;
        let shown = value.shown().unwrap_or_else(|| self.page.text[span.clone()].to_owned());
        Some(Read { key, span, shown, value })
    }

    fn value(&mut self, name: &str, shape: Shape, toml: &Spanned<DeValue<'_>>) -> Option<Value> {
        match (shape, toml.get_ref()) {
            (Shape::Texts(_) | Shape::Words(_), DeValue::Array(items)) => {
                let texts: Vec<Option<Text>> =
                    items.iter().map(|item| self.text(name, shape, item)).collect();
                if texts.is_empty() {
                    let what = format!("`{name}` is empty");
                    let fault =
                        Fault::new(toml.span(), what).help(format!("it is {}", shape.expected()));
                    self.faults.push(fault);
                    return None;
                }
                let texts: Vec<Text> = texts.into_iter().collect::<Option<_>>()?;
                if let Shape::Words(words) = shape {
                    return self.words(name, words, &texts);
                }
                Some(Value::Texts(texts))
            }
            (Shape::Table(table), DeValue::Table(inner)) => {
                Some(Value::Table(self.table(table, inner, toml.span())))
            }
            (Shape::WordOrTable(_, table) | Shape::OneOrMore(table), DeValue::Table(inner)) => {
                let inner = self.table(table, inner, toml.span());
                Some(match shape {
                    Shape::OneOrMore(_) => Value::Tables(vec![inner]),
                    _ => Value::Table(inner),
                })
            }
            (Shape::Tables(table) | Shape::OneOrMore(table), DeValue::Array(items)) => {
                let mut tables = Vec::new();
                for item in items.iter() {
                    match item.get_ref() {
                        DeValue::Table(inner) => {
                            tables.push(self.table(table, inner, item.span()));
                        }
                        _ => self.wrong_type(name, shape, item),
                    }
                }
                Some(Value::Tables(tables))
            }
            (_, DeValue::String(_)) => {
                let text = self.text(name, shape, toml)?;
                self.take(scalar::of_text(name, shape, text))
            }
            (_, DeValue::Integer(number)) => {
                let number = i128::from_str_radix(number.as_str(), number.radix()).ok();
                match scalar::of_number(name, shape, number, toml.span()) {
                    Some(value) => self.take(value),
                    None => {
                        self.wrong_type(name, shape, toml);
                        None
                    }
                }
            }
            (Shape::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
            _ => {
                self.wrong_type(name, shape, toml);
                None
            }
        }
    }

    fn take(&mut self, value: Result<Value, Fault>) -> Option<Value> {
        value.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// `None`: it is none, or a variable in it could not be replaced.
    fn text(&mut self, name: &str, shape: Shape, toml: &Spanned<DeValue<'_>>) -> Option<Text> {
        let Some(value) = toml.get_ref().as_str() else {
            self.wrong_type(name, shape, toml);
            return None;
        };
        let span = toml.span();
        let text = placed(&self.page.text[span.clone()], span.start, value);
        let before = self.faults.len();
        let text = self.environment.substitute(&text, &mut self.faults);
        (self.faults.len() == before).then(|| Text::new(text, span))
    }

    fn words(
        &mut self,
        name: &str,
        words: &'static [&'static str],
        texts: &[Text],
    ) -> Option<Value> {
        let mut found: Vec<&'static str> = Vec::new();
        for text in texts {
            match scalar::word(name, Shape::Word(words), words, text) {
                Ok(word) if found.contains(&word) => {
                    let what = format!("\"{word}\" is given twice in `{name}`");
                    let fault = Fault::new(text.span.clone(), what);
                    self.faults.push(fault.help("remove one of them".to_owned()));
                }
                Ok(word) => found.push(word),
                Err(fault) => self.faults.push(fault),
            }
        }
        (found.len() == texts.len()).then_some(Value::Words(found))
    }

    fn wrong_type(&mut self, name: &str, shape: Shape, toml: &Spanned<DeValue<'_>>) {
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
        let fault = Fault::new(toml.span(), what).help(format!("it is {}", shape.expected()));
        self.faults.push(fault);
    }
}
