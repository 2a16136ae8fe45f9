//! The names that a function's arguments bind.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{FnArg, Ident, PatIdent, Signature};

use crate::suggest::did_you_mean;

/// The names for placeholders, in the order of the arguments.
pub(crate) struct Bindings {
    function: String,
    names: Vec<Ident>,
}

impl Bindings {
    pub(crate) fn of(sig: &Signature) -> Self {
        let mut names = BoundNames::default();
        for input in &sig.inputs {
            match input {
                FnArg::Receiver(receiver) => names.0.push(receiver.self_token.into()),
                FnArg::Typed(argument) => names.visit_pat(&argument.pat),
            }
        }
        Self { function: sig.ident.unraw().to_string(), names: names.0 }
    }

    /// Returns the argument that `word` names, also as a raw identifier (`r#type` is `{type}`).
    pub(crate) fn find(&self, word: &str) -> Option<&Ident> {
        self.names.iter().find(|name| name.unraw() == word)
    }

    pub(crate) fn missing(&self, word: &str, span: Span) -> syn::Error {
        let function = &self.function;
        let text = if self.names.is_empty() {
            format!("`{word}` is not an argument of `{function}`, which has no named arguments")
        } else {
            let names: Vec<_> = self.names.iter().map(|n| n.unraw().to_string()).collect();
            let hint = did_you_mean(word, names.iter().map(String::as_str));
            let available = names.join(", ");
            format!("`{word}` is not an argument of `{function}`; available: {available}{hint}")
        };
        syn::Error::new(span, text)
    }
}

#[derive(Default)]
struct BoundNames(Vec<Ident>);

impl Visit<'_> for BoundNames {
    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::Bindings;

    fn names(sig: &str) -> String {
        let sig = syn::parse_str(sig).expect("a signature");
        let names = Bindings::of(&sig).names;
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_kind_of_pattern() {
        assert_eq!(names("fn f()"), "");
        assert_eq!(names("fn f(id: u64, mut body: String)"), "id body");
        assert_eq!(names("fn f(Path(id): Path<u64>)"), "id");
        assert_eq!(names("fn f(Path((a, b)): Path<(u64, u64)>, _: X, _c: Y)"), "a b _c");
        assert_eq!(names("fn f(axum::Json(body): axum::Json<Order>)"), "body");
        assert_eq!(names("fn f(Order { id, lines: [first, ..], .. }: Order)"), "id first");
        assert_eq!(names("fn f(&id: &u64, all @ (x, _): (u8, u8), (y): u8)"), "id all x y");
        assert_eq!(names("fn f(&self, id: u64)"), "self id");
        assert_eq!(names("fn f(self: Arc<Self>, r#type: u64)"), "self r#type");
    }

    #[test]
    fn a_raw_name_is_found_by_its_word() {
        let sig = syn::parse_str("fn f(r#type: u64)").expect("a signature");
        let bindings = Bindings::of(&sig);
        assert_eq!(bindings.find("type").map(ToString::to_string).as_deref(), Some("r#type"));
        assert!(bindings.find("r#type").is_none());
    }
}
