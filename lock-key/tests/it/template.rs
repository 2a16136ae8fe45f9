//! How legal templates are read and rendered.

use std::borrow::Cow;
use std::convert::Infallible;

use lock_key::{PlaceholderType, RenderError, Segment, Template, ValueFault};

fn render(template: &Template, values: &[(&str, &str)]) -> Result<String, RenderError<String>> {
    template.render(|placeholder| {
        let name = placeholder.name();
        values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| Cow::Borrowed(*value))
            .ok_or(name)
    })
}

#[test]
fn placeholders_carry_path_type_and_place() {
    let source = "o:{id}:{path.tenant:lower}:{body.lines.0:u64}";
    let template = Template::parse(source).unwrap();
    let placeholders: Vec<_> = template
        .placeholders()
        .map(|placeholder| {
            (
                placeholder.name(),
                placeholder.path.len(),
                placeholder.ty,
                &source[placeholder.span.clone()],
            )
        })
        .collect();
    assert_eq!(
        placeholders,
        [
            ("id".to_owned(), 1, PlaceholderType::Text, "id"),
            ("path.tenant".to_owned(), 2, PlaceholderType::Lower, "path.tenant"),
            ("body.lines.0".to_owned(), 3, PlaceholderType::U64, "body.lines.0"),
        ]
    );
}

#[test]
fn every_type_has_a_word() {
    for ty in PlaceholderType::ALL {
        let source = format!("o:{{id:{ty}}}");
        let template = Template::parse(&source).unwrap();
        let placeholder = template.placeholders().next().unwrap();
        assert_eq!((placeholder.ty, placeholder.is_typed), (ty, true));
    }
    let template = Template::parse("o:{id}").unwrap();
    let placeholder = template.placeholders().next().unwrap();
    assert_eq!((placeholder.ty, placeholder.is_typed), (PlaceholderType::Text, false));
}

#[test]
fn doubled_braces_are_literal() {
    let template = Template::parse("order:{{{id}}}:lines").unwrap();
    let [Segment::Literal(before), Segment::Placeholder(placeholder), Segment::Literal(after)] =
        template.segments()
    else {
        panic!("{template:?}");
    };
    assert_eq!((&**before, &*placeholder.name(), &**after), ("order:{", "id", "}:lines"));
    assert_eq!(render(&template, &[("id", "42")]).unwrap(), "order:{42}:lines");
}

#[test]
fn text_is_taken_as_it_is() {
    let template = Template::parse("größe %2F \"quoted\" {{tag}} 100%").unwrap();
    assert_eq!(render(&template, &[]).unwrap(), "größe %2F \"quoted\" {tag} 100%");
}

#[test]
fn a_template_shows_its_source() {
    let source = "order:{{{id:u64}}}";
    let template: Template = source.parse().unwrap();
    assert_eq!(template.source(), source);
    assert_eq!(template.to_string(), source);
    assert_eq!(template, Template::parse(source).unwrap());
}

#[test]
fn values_are_read_in_order_and_each_time() {
    let template = Template::parse("{b}:{a}:{b}").unwrap();
    let mut requested = Vec::new();
    let key = template
        .render(|placeholder| {
            requested.push(placeholder.name());
            Ok::<_, Infallible>(Cow::Owned(requested.len().to_string()))
        })
        .unwrap();
    assert_eq!(key, "1:2:3");
    assert_eq!(requested, ["b", "a", "b"]);
}

#[test]
fn the_resolvers_error_comes_back() {
    let template = Template::parse("{a}:{b}:{c}").unwrap();
    let error = render(&template, &[("a", "1")]).unwrap_err();
    assert_eq!(error, RenderError::Resolve("b".to_owned()));
    assert_eq!(error.to_string(), "b");
}

#[test]
fn a_refused_value_names_its_placeholder() {
    let template = Template::parse("{a}:{body.id:u64}").unwrap();
    let error = render(&template, &[("a", "1"), ("body.id", "secret")]).unwrap_err();
    assert_eq!(error.to_string(), "the value of `body.id` is not of type u64");
    let RenderError::Value(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.placeholder(), Some("body.id"));
    assert_eq!(error.fault(), ValueFault::NotOfType { expected: PlaceholderType::U64 });
}

#[test]
fn a_key_of_long_values_is_refused_as_a_whole() {
    let template = Template::parse("{a}:{b}").unwrap();
    // Each of these bytes takes three in the key.
    let wide = "/".repeat(85);
    let fits = render(&template, &[("a", &wide), ("b", &wide)]).unwrap();
    assert_eq!(fits.len(), 511);
    let wider = "/".repeat(86);
    let error = render(&template, &[("a", &wide), ("b", &wider)]).unwrap_err();
    assert_eq!(error.to_string(), "the key has 514 bytes; at most 512 are allowed");
}

#[test]
fn options_stand_behind_the_type_in_any_order() {
    let source = "{query.page:u64|default=1}:{header.x-user|hash}:{a:lower|hash|default=X:y}:\
                  {b|default=-|hash}";
    let template = Template::parse(source).unwrap();
    let placeholders: Vec<_> = template
        .placeholders()
        .map(|placeholder| {
            (placeholder.name(), placeholder.ty, placeholder.default.as_deref(), placeholder.hash)
        })
        .collect();
    assert_eq!(
        placeholders,
        [
            ("query.page".to_owned(), PlaceholderType::U64, Some("1"), false),
            ("header.x-user".to_owned(), PlaceholderType::Text, None, true),
            ("a".to_owned(), PlaceholderType::Lower, Some("X:y"), true),
            ("b".to_owned(), PlaceholderType::Text, Some("-"), true),
        ]
    );
    assert_eq!(&source[template.placeholders().nth(1).unwrap().span.clone()], "header.x-user");
}

#[test]
fn a_hashed_placeholder_takes_a_digest_alone() {
    let template = Template::parse("u:{id|hash}").unwrap();
    let digest = "0123456789abcdef".repeat(4);
    assert_eq!(render(&template, &[("id", &digest)]).unwrap(), format!("u:{digest}"));
    for text in ["", "ann", &digest[1..], &digest.to_uppercase(), &format!("{digest}0")] {
        let RenderError::Value(error) = render(&template, &[("id", text)]).unwrap_err() else {
            panic!("{text:?}");
        };
        assert_eq!(error.fault(), ValueFault::NotADigest, "{text:?}");
        assert!(error.to_string().contains("64"), "{error}");
    }
}

#[test]
fn a_placeholder_makes_values_canonical() {
    let template = Template::parse("{a:lower|hash}:{b:u64}").unwrap();
    let [a, b] = template.placeholders().collect::<Vec<_>>()[..] else { panic!("{template:?}") };
    assert_eq!(a.canonical("ANN").unwrap(), "ann");
    assert_eq!(b.canonical("007").unwrap(), "7");
    assert!(a.canonical(&"x".repeat(8192)).is_ok());
    let too_long = |placeholder: &lock_key::Placeholder, text: &str| {
        placeholder.canonical(text).unwrap_err().fault()
    };
    let long = "0".repeat(8193);
    assert_eq!(too_long(a, &long), ValueFault::TooLong { bytes: 8193, most: 8192 });
    assert_eq!(too_long(b, &long[..129]), ValueFault::TooLong { bytes: 129, most: 128 });
    assert_eq!(too_long(a, ""), ValueFault::Empty);
    assert_eq!(too_long(b, "x"), ValueFault::NotOfType { expected: PlaceholderType::U64 });
}
