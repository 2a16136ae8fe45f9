//! Every way in which a template is refused: what is said, and where.

use lock_key::{BraceFault, PlaceholderType, Template, TemplateFault};

/// The fault, and the part of the source that the span covers.
#[track_caller]
fn refused(source: &str) -> (TemplateFault, &str) {
    let error = Template::parse(source).expect_err(source);
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    (error.fault().clone(), &source[error.span()])
}

fn bad_name(word: &str) -> TemplateFault {
    TemplateFault::BadName(word.to_owned())
}

fn unknown_type(word: &str) -> TemplateFault {
    TemplateFault::UnknownType(word.to_owned())
}

fn ambiguous(left: &str, right: &str) -> TemplateFault {
    TemplateFault::Ambiguous { left: left.to_owned(), right: right.to_owned() }
}

#[test]
fn a_template_without_text() {
    assert_eq!(refused(""), (TemplateFault::Empty, ""));
}

#[test]
fn control_characters() {
    assert_eq!(refused("order\n:{id}"), (TemplateFault::ControlCharacter('\n'), "\n"));
    assert_eq!(refused("é\u{85}"), (TemplateFault::ControlCharacter('\u{85}'), "\u{85}"));
    assert_eq!(refused("a{id\0}").0, bad_name("id\0"));
}

#[test]
fn unbalanced_braces() {
    let last = |source: &str| Template::parse(source).map(|_| ()).expect_err(source).span();
    assert_eq!(refused("order:{id"), (TemplateFault::UnclosedPlaceholder, "{"));
    assert_eq!(refused("order:{"), (TemplateFault::UnclosedPlaceholder, "{"));
    assert_eq!(refused("{a{b}}"), (TemplateFault::UnclosedPlaceholder, "{"));
    assert_eq!(refused("order:id}"), (TemplateFault::UnopenedPlaceholder, "}"));
    assert_eq!(refused("order:{{id}"), (TemplateFault::UnopenedPlaceholder, "}"));
    // Read from the left in twos: the placeholder closes first, then one brace is left over.
    assert_eq!(last("o:{id}}"), 6..7);
    assert_eq!(last("o:{{{id}"), 2..4);
}

#[test]
fn placeholders_without_a_name() {
    assert_eq!(refused("order:{}"), (TemplateFault::EmptyPlaceholder, "{}"));
    assert_eq!(refused("order:{:u64}"), (TemplateFault::EmptyPlaceholder, "{:u64}"));
}

#[test]
fn words_that_are_no_names() {
    for (source, word) in [
        ("o:{order-id}", "order-id"),
        ("o:{ id}", " id"),
        ("o:{id }", "id "),
        ("o:{7}", "7"),
        ("o:{7up}", "7up"),
        ("o:{_}", "_"),
        ("o:{größe}", "größe"),
        ("o:{body.-id}", "-id"),
        ("o:{body.0x}", "0x"),
        ("o:{body.01}", "01"),
        ("o:{body.99999999999}", "99999999999"),
    ] {
        assert_eq!(refused(source), (bad_name(word), word), "{source}");
    }
    for path in ["body.", ".id", "a..b", "."] {
        let source = format!("o:{{{path}}}");
        assert_eq!(refused(&source), (bad_name(path), path), "{source}");
    }
}

#[test]
fn the_text_of_a_bad_name_shows_what_cannot_be_seen() {
    let error = Template::parse("o:{a\tb}").expect_err("a tab is no part of a name");
    assert!(error.to_string().contains(r"`a\tb`"), "{error}");
}

#[test]
fn unknown_types() {
    for word in ["int", "U64", "string", " u64", "u64:i64"] {
        let source = format!("o:{{id:{word}}}");
        assert_eq!(refused(&source), (unknown_type(word), word), "{source}");
    }
    assert_eq!(refused("o:{id:}"), (unknown_type(""), ":"));
    let text = Template::parse("o:{id:int}").expect_err("int").to_string();
    for legal in ["u64", "i64", "uuid", "lower", "text"] {
        assert!(text.contains(&format!("{{name:{legal}}}")), "{text}");
    }
}

#[test]
fn options_that_are_none() {
    for (source, word) in
        [("o:{id|hsah}", "hsah"), ("o:{id|default}", "default"), ("o:{a|b|c}", "b")]
    {
        let fault = TemplateFault::UnknownOption(word.to_owned());
        assert_eq!(refused(source), (fault, word), "{source}");
    }
    for source in ["o:{id|}", "o:{id:u64|}", "o:{id|hash|}"] {
        let fault = TemplateFault::UnknownOption(String::new());
        assert_eq!(refused(source), (fault, "|"), "{source}");
    }
    assert_eq!(refused("o:{id|hash|hash}"), (TemplateFault::OptionTwice("hash"), "hash"));
    let twice = TemplateFault::OptionTwice("default");
    assert_eq!(refused("o:{id|default=1|default=2}"), (twice, "default=2"));
    let legal = Template::parse("o:{id|hsah}").expect_err("hsah").to_string();
    assert!(legal.contains("{name|hash}") && legal.contains("{name|default=value}"), "{legal}");
}

#[test]
fn defaults_that_could_not_stand_there() {
    let long = format!("default={}", "x".repeat(129));
    for (ty, option) in [
        (PlaceholderType::U64, "default=one"),
        (PlaceholderType::Uuid, "default=0"),
        (PlaceholderType::Text, "default="),
        (PlaceholderType::Text, "default=a\tb"),
        (PlaceholderType::Text, &long),
    ] {
        let source = format!("o:{{id:{ty}|{option}}}");
        assert_eq!(refused(&source), (TemplateFault::BadDefault(ty), option), "{source}");
    }
}

#[test]
fn literal_braces_that_are_no_hash_tag() {
    for (source, fault, place) in [
        ("o:{{}}", BraceFault::EmptyTag, "{{}}"),
        ("o:}}", BraceFault::CloseWithoutOpen, "}}"),
        ("o:}}{{a", BraceFault::CloseWithoutOpen, "}}"),
        ("o:{{a", BraceFault::OpenWithoutClose, "{{"),
        ("o:{{{id}", BraceFault::OpenWithoutClose, "{{"),
        ("{{a}}{{b", BraceFault::MoreThanOnePair, "{{"),
        ("{{a{{b}}", BraceFault::MoreThanOnePair, "{{"),
        ("{{a}}b}}", BraceFault::MoreThanOnePair, "}}"),
    ] {
        assert_eq!(refused(source), (TemplateFault::HashTag(fault), place), "{source}");
    }
}

#[test]
fn more_than_any_key_may_have() {
    assert!(Template::parse(&"x".repeat(512)).is_ok());
    let long = "x".repeat(513);
    assert_eq!(refused(&long), (TemplateFault::TooLong, &*long));
    // The value of a placeholder has at least one byte, a UUID always 36.
    assert!(Template::parse(&format!("{}{{id}}", "x".repeat(511))).is_ok());
    assert_eq!(refused(&format!("{}{{id}}", "x".repeat(512))).0, TemplateFault::TooLong);
    assert!(Template::parse(&format!("{}{{id:uuid}}", "x".repeat(476))).is_ok());
    assert_eq!(refused(&format!("{}{{id:uuid}}", "x".repeat(477))).0, TemplateFault::TooLong);
    assert!(Template::parse(&format!("{}{{id|hash}}", "x".repeat(448))).is_ok());
    assert_eq!(refused(&format!("{}{{id|hash}}", "x".repeat(449))).0, TemplateFault::TooLong);
}

#[test]
fn placeholders_that_run_into_each_other() {
    assert_eq!(refused("o:{a}{b}"), (ambiguous("a", "b"), "a}{b"));
    assert_eq!(refused("o:{a}-{b.c}:{d}"), (ambiguous("a", "b.c"), "a}-{b.c"));
    // Encoding puts `%` into values.
    assert_eq!(refused("o:{a}%{b}"), (ambiguous("a", "b"), "a}%{b"));
    assert_eq!(refused("o:{a:u64}7{b:u64}").0, ambiguous("a", "b"));
    assert_eq!(refused("o:{a:i64}-{b:i64}").0, ambiguous("a", "b"));
    assert_eq!(refused("o:{a:u64}_{b}-{c}").0, ambiguous("b", "c"));
    assert_eq!(refused("o:{a}-{b}-{c:u64}").0, ambiguous("a", "b"));
}

#[test]
fn placeholders_that_end_where_one_can_see_it() {
    for source in [
        "{id}",
        "o:{a}:{b}",
        "o:{a}x/y{b}",
        "o:{{{a}}}{b}",
        "o:{a:u64}-{b}",
        "o:{a}-{b:u64}",
        "o:{a|hash}{b}",
        "o:{a}{b:lower|hash}",
        "o:{a:uuid}{b}",
        "o:{a}{b:uuid}",
        "o:{a:u64}-{b}-{c:u64}",
    ] {
        assert!(Template::parse(source).is_ok(), "{source}");
    }
}
