//! No two sets of values give one key: by trying all short ones, and many long ones.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

use lock_key::{KeyWriter, PlaceholderType, Template, check_braces};

fn render(template: &Template, values: &[&str]) -> Option<String> {
    let mut values = values.iter();
    template
        .render(|placeholder| {
            let value = *values.next().unwrap();
            Ok::<_, Infallible>(if placeholder.hash {
                digest(&placeholder.canonical(value).unwrap()).into()
            } else {
                Cow::Borrowed(value)
            })
        })
        .ok()
}

/// Replaces SHA-256: has its length and letters, and differs for different (short) texts.
fn digest(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(hex.len() < 64, "{text:?} is too long");
    format!("{hex:f>64}")
}

/// Every text of 1 to `longest` of these letters.
fn texts(letters: &[&str], longest: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut layer = vec![String::new()];
    for _ in 0..longest {
        layer = layer
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        all.extend(layer.iter().cloned());
    }
    all
}

/// Splits `source` templates into those with two placeholders, and checks all pairs of values.
fn all_pairs_differ(source: &str, left: &[String], right: &[String]) {
    let template = Template::parse(source).unwrap();
    let mut seen: HashMap<String, (&str, &str)> = HashMap::new();
    for left in left {
        for right in right {
            let key = render(&template, &[left, right]).unwrap();
            check_braces(&key).unwrap();
            if let Some(other) = seen.insert(key.clone(), (left, right)) {
                panic!("{source}: {other:?} and {:?} both give {key}", (left, right));
            }
        }
    }
}

#[test]
fn pairs_of_text() {
    let texts = texts(&["a", "2", "F", "%", ":", "-", "{", "}", "/", "ö"], 2);
    for source in ["{a}:{b}", "o:{a}a/-2{b}", "o:{{{a}}}{b}", "{a}/{b}-2", "{a}a:a{b}"] {
        all_pairs_differ(source, &texts, &texts);
    }
}

#[test]
fn pairs_of_a_number_and_text() {
    let numbers: Vec<String> = (0..120).map(|n: u32| n.to_string()).collect();
    let signed: Vec<String> = (-60..60).map(|n: i32| n.to_string()).collect();
    let texts = texts(&["1", "2", "-", "x", "%"], 3);
    all_pairs_differ("o:{a:u64}-{b}", &numbers, &texts);
    all_pairs_differ("o:{a}-{b:u64}", &texts, &numbers);
    all_pairs_differ("o:{a:u64}-{b:i64}", &numbers, &signed);
    all_pairs_differ("o:{a:i64}x{b}", &signed, &texts);
}

#[test]
fn pairs_of_a_digest_and_text() {
    let texts = texts(&["a", "f", "6", "-", ":"], 3);
    for source in ["o:{a|hash}{b}", "o:{a}{b|hash}", "{a|hash}f{b}", "{a|hash}{b|hash}"] {
        all_pairs_differ(source, &texts, &texts);
    }
}

#[test]
fn a_default_is_the_key_of_its_own_text_alone() {
    let template = Template::parse("{a|default=x}:{b:u64|default=7}").unwrap();
    let defaults: Vec<&str> = template
        .placeholders()
        .map(|placeholder| placeholder.default.as_deref().unwrap())
        .collect();
    let missing = render(&template, &defaults).unwrap();
    for a in texts(&["x", "X", "%", ":"], 2) {
        for b in ["7", "07", "8", "77"] {
            let same = a == "x" && b.trim_start_matches('0') == "7";
            assert_eq!(render(&template, &[&a, b]).unwrap() == missing, same, "{a} {b}");
        }
    }
}

#[test]
fn the_refused_templates_would_collide() {
    // Built by hand, because the parser refuses it: the refusal is for a reason.
    let by_hand = |left: &str, right: &str| {
        let mut writer = KeyWriter::new();
        writer.value("a", PlaceholderType::Text, left).unwrap();
        writer.literal("-");
        writer.value("b", PlaceholderType::Text, right).unwrap();
        writer.finish().unwrap()
    };
    assert_eq!(by_hand("x-y", "z"), by_hand("x", "y-z"));
    assert!(Template::parse("{a}-{b}").is_err());
}

#[test]
fn single_characters() {
    let template = Template::parse("{a}").unwrap();
    let mut seen = HashMap::new();
    for c in (0..0x3000).filter_map(char::from_u32) {
        let key = render(&template, &[&c.to_string()]).unwrap();
        assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-%".contains(&b)));
        assert_eq!(seen.insert(key, c), None);
    }
}

#[test]
fn encoding_can_be_undone() {
    fn decode(key: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = key.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let pair = [rest.next().unwrap(), rest.next().unwrap()];
                assert!(pair.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
                bytes.push(u8::from_str_radix(str::from_utf8(&pair).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    }
    let template = Template::parse("{a}").unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..20_000 {
        let value = random.text(40);
        assert_eq!(decode(&render(&template, &[&value]).unwrap()), value);
    }
}

#[test]
fn random_templates_never_panic_and_never_collide() {
    let pieces = [
        "{a}",
        "{b:u64}",
        "{c:uuid}",
        "{d:lower}",
        "{e|hash}",
        "{f|default=x}",
        "{",
        "}",
        "{{",
        "}}",
        ":",
        "-",
        "x",
        "7",
        "%",
        "ö",
        ".",
    ];
    let uuids: Vec<String> = (0..4).map(|n: u32| format!("{n:032x}")).collect();
    let words = ["a", "x", "7", "-", "x7", "7-", "x-x", ":", "%", "7.", "77"];
    let mut random = Random(42);
    let mut legal = 0;
    for _ in 0..30_000 {
        let count = 1 + random.below(8);
        let source: String = (0..count).map(|_| pieces[random.below(pieces.len())]).collect();
        let Ok(template) = Template::parse(&source) else {
            continue;
        };
        legal += 1;
        let mut seen: HashMap<String, Vec<String>> = HashMap::new();
        for _ in 0..40 {
            let values: Vec<String> = template
                .placeholders()
                .map(|placeholder| match placeholder.ty {
                    PlaceholderType::U64 => random.below(120).to_string(),
                    PlaceholderType::Uuid => uuids[random.below(4)].clone(),
                    _ => words[random.below(words.len())].to_owned(),
                })
                .collect();
            let borrowed: Vec<&str> = values.iter().map(String::as_str).collect();
            let key = render(&template, &borrowed).unwrap();
            check_braces(&key).unwrap();
            let first = seen.entry(key).or_insert_with(|| values.clone());
            assert_eq!(*first, values, "{source}");
        }
    }
    assert!(legal > 1_000, "only {legal} of the templates were legal");
}

/// A small generator (xorshift) with a known seed, so that a failure can be run again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn text(&mut self, longest: usize) -> String {
        let length = 1 + self.below(longest);
        let text =
            (0..length).filter_map(|_| char::from_u32(u32::try_from(self.below(0x300)).unwrap()));
        let mut text: String = text.collect();
        while text.len() > lock_key::MAX_VALUE_BYTES {
            text.pop();
        }
        text
    }
}
