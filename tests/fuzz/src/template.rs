use lock_key::Template;

/// A text is a template or is not, and is reported where it is wrong.
///
/// # Panics
///
/// When the place is not in the text, or a template is another one once it is written out.
pub fn template(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match Template::parse(text) {
        Ok(template) => {
            assert_eq!(template.source(), text);
            let again = Template::parse(&template.to_string());
            let again = again.expect("a template that is written out is one");
            assert_eq!(again.segments(), template.segments());
            for placeholder in template.placeholders() {
                assert_eq!(&text[placeholder.span.clone()], placeholder.name());
            }
        }
        Err(error) => {
            assert!(text.get(error.span()).is_some(), "{error}: {:?} of {text:?}", error.span());
            assert!(!error.to_string().is_empty());
        }
    }
}
