//! The spans that ended while a test looks.

use std::{cell::RefCell, collections::BTreeMap, fmt::Debug};

use tracing::{Subscriber, field::Visit, span};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

use super::subscriber::subscribe;

type Fields = BTreeMap<String, String>;

/// Collects the spans of the current thread until it is dropped.
pub struct Spans(());

thread_local! {
    static ENDED: RefCell<Option<Vec<(&'static str, Fields)>>> = const { RefCell::new(None) };
}

impl Spans {
    pub fn collect() -> Self {
        subscribe();
        ENDED.set(Some(Vec::new()));
        Self(())
    }

    /// The fields of those of that name, in the order in which they ended.
    pub fn ended(&self, name: &str) -> Vec<Fields> {
        ENDED.with_borrow(|ended| {
            let named = ended.iter().flatten().filter(|(of, _)| *of == name);
            named.map(|(_, fields)| fields.clone()).collect()
        })
    }
}

impl Drop for Spans {
    fn drop(&mut self) {
        ENDED.set(None);
    }
}

pub(super) struct Recorder;

struct Record<'a>(&'a mut Fields);

impl Visit for Record<'_> {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Recorder {
    fn on_new_span(&self, span: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut fields = Fields::new();
        span.record(&mut Record(&mut fields));
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut Record(extensions.get_mut().unwrap()));
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let fields = span.extensions_mut().remove::<Fields>().unwrap();
        ENDED.with_borrow_mut(|ended| {
            ended.iter_mut().for_each(|ended| ended.push((span.name(), fields.clone())));
        });
    }
}
