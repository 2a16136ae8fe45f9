//! Two templates that give one key.

use std::{borrow::Cow, collections::HashMap, convert::Infallible};

use lock_key::{PlaceholderType, Segment, Template};

use crate::injective::Random;

fn common(one: &str, other: &str) -> Option<String> {
    let [a, b] = [one, other].map(|source| Template::parse(source).unwrap());
    let key = a.common_key(&b);
    assert_eq!(key.is_some(), b.common_key(&a).is_some(), "{one} and {other}");
    for key in key.iter().chain(&b.common_key(&a)) {
        assert!(gives(a.segments(), key) && gives(b.segments(), key), "{one} and {other}: {key}");
    }
    key
}

/// Whether some values give this key: every split of it is tried.
fn gives(segments: &[Segment], key: &str) -> bool {
    match segments {
        [] => key.is_empty(),
        [Segment::Literal(text), rest @ ..] => {
            key.strip_prefix(text.as_str()).is_some_and(|key| gives(rest, key))
        }
        [Segment::Placeholder(placeholder), rest @ ..] => (1..=key.len()).any(|at| {
            key.is_char_boundary(at) && {
                let (value, key) = key.split_at(at);
                let is_value = match placeholder.hash {
                    true => {
                        value.len() == 64 && value.bytes().all(|b| b"0123456789abcdef".contains(&b))
                    }
                    false => decoded(value).is_some_and(|text| {
                        placeholder.canonical(&text).is_ok_and(|same| same == *text)
                    }),
                };
                is_value && gives(rest, key)
            }
        }),
    }
}

/// Returns the value before its encoding; `None` if no value is encoded so.
fn decoded(value: &str) -> Option<String> {
    let mut writer = lock_key::KeyWriter::new();
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        bytes.push(match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                u8::from_str_radix(str::from_utf8(&[*high, *low]).ok()?, 16).ok()?
            }
            (byte, _) => *byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    writer.value("x", PlaceholderType::Text, &text).ok()?;
    (writer.finish().unwrap() == value).then_some(text)
}

#[test]
fn templates_with_a_common_key() {
    const UUID: &str = "11111111-1111-1111-1111-111111111111";
    for (one, other, key) in [
        ("user-{id}", "user-{id}-cart", "user-1-cart"),
        ("order:{id}", "order:latest", "order:latest"),
        ("order:{id}", "order:{sku:u64}", "order:1"),
        ("{a}", "order", "order"),
        ("{a:u64}.{b}", "1.{b:u64}.c", "1.1.c"),
        ("a{x:i64}", "a-{y:u64}", "a-1"),
        ("a{x:u64}", "a0", "a0"),
        ("a-{x}", "a-{x:uuid}", &format!("a-{UUID}")),
        ("a-{x|hash}", "a-{x:u64|hash}", &format!("a-{}", "1".repeat(64))),
        ("{x}b", "a{x}", "ab"),
        ("a%2F{x}", "a{x}", "a%2F1"),
        ("caf\u{e9}-{x}", "caf\u{e9}-{x}-{y:u64}", "caf\u{e9}-1-1"),
    ] {
        assert_eq!(common(one, other).as_deref(), Some(key), "{one} and {other}");
    }
}

#[test]
fn templates_without_one() {
    for (one, other) in [
        ("user:{id}", "user:{id}:cart"),
        ("user:{id}", "cart:{id}"),
        ("order:{id:u64}", "order:latest"),
        ("order:{id:u64}", "order:007"),
        ("order:{id:u64}", "order:111111111111111111111"),
        ("order:{id:lower}", "order:LATEST"),
        ("order:{id:uuid}", "order:{id:u64}"),
        ("order:{id:uuid}", "order:{id|hash}"),
        ("a{x:u64}", "a-{y}"),
        ("a{x:i64}", "a--{y}"),
        ("a{x}", "a%2f{x}"),
        ("caf\u{e9}{x}", "caf\u{e8}{x}"),
        ("{a}", "a:b"),
        ("a", "b"),
    ] {
        assert_eq!(common(one, other), None, "{one} and {other}");
    }
}

#[test]
fn random_templates_with_a_key_in_common_are_found() {
    let pieces = ["{a}", "{b:u64}", "{d:lower}", "{e:i64}", ":", "-", "x", "7", ".", "A"];
    let words = ["a", "x", "7", "-", "x7", "-7", "x-x", "0", "77", "x.7", "7-x"];
    let mut random = Random(7);
    let mut templates = Vec::new();
    let mut givers: HashMap<String, Vec<usize>> = HashMap::new();
    while templates.len() < 120 {
        let source: String =
            (0..=random.below(4)).map(|_| pieces[random.below(pieces.len())]).collect();
        let Ok(template) = Template::parse(&source) else { continue };
        for _ in 0..30 {
            let key = template
                .render(|_| Ok::<_, Infallible>(Cow::Borrowed(words[random.below(words.len())])));
            givers.entry(key.unwrap_or_default()).or_default().push(templates.len());
        }
        templates.push(template);
    }
    givers.remove("");
    let mut found = 0;
    for (key, givers) in &givers {
        for pair in givers.windows(2).filter(|pair| pair[0] != pair[1]) {
            let [one, other] = [pair[0], pair[1]].map(|nth| templates[nth].source());
            assert!(common(one, other).is_some(), "{one} and {other} give {key}");
            found += 1;
        }
    }
    assert!(found > 100, "only {found} pairs");
    for (nth, one) in templates.iter().enumerate() {
        for other in &templates[..nth] {
            common(one.source(), other.source());
        }
    }
}
