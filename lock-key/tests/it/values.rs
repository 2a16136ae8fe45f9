//! Values are refused, made canonical, or encoded.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use lock_key::{KeyPart, KeyWriter, PlaceholderType, ValueError, ValueFault};

fn write(ty: PlaceholderType, value: &str) -> Result<String, ValueError> {
    let mut writer = KeyWriter::new();
    writer.value("id", ty, value)?;
    writer.finish()
}

#[track_caller]
fn same_key(ty: PlaceholderType, key: &str, spellings: &[&str]) {
    for spelling in spellings {
        assert_eq!(write(ty, spelling).as_deref(), Ok(key), "{spelling:?} as {ty}");
    }
}

#[track_caller]
fn refused(ty: PlaceholderType, values: &[&str]) {
    for value in values {
        let error = write(ty, value).expect_err(value);
        assert_eq!(error.fault(), ValueFault::NotOfType { expected: ty }, "{value:?} as {ty}");
        assert_eq!(error.placeholder(), Some("id"));
    }
}

#[test]
fn text_is_percent_encoded() {
    same_key(PlaceholderType::Text, "aZ09_.-", &["aZ09_.-"]);
    same_key(PlaceholderType::Text, "a%2Fb%3Ac%7Bd%7D%25%20%0A%00", &["a/b:c{d}% \n\0"]);
    same_key(PlaceholderType::Text, "%C3%B6", &["ö"]);
    same_key(PlaceholderType::Text, "007", &["007"]);
}

#[test]
fn whole_numbers_have_one_spelling() {
    same_key(PlaceholderType::U64, "7", &["7", "+7", "007", "+007"]);
    same_key(PlaceholderType::U64, "0", &["0", "000", "+0"]);
    same_key(PlaceholderType::U64, "18446744073709551615", &["18446744073709551615"]);
    refused(
        PlaceholderType::U64,
        &[
            "-7",
            "-0",
            "7.0",
            " 7",
            "7 ",
            "0x7",
            "1e3",
            "1_000",
            "+",
            "seven",
            "٧",
            "18446744073709551616",
        ],
    );
    same_key(PlaceholderType::I64, "7", &["7", "+7", "007"]);
    same_key(PlaceholderType::I64, "-7", &["-7", "-007"]);
    same_key(PlaceholderType::I64, "0", &["0", "-0", "+0", "-000"]);
    same_key(PlaceholderType::I64, "-9223372036854775808", &["-9223372036854775808"]);
    refused(PlaceholderType::I64, &["--7", "+-7", "-", "9223372036854775808", "7-"]);
}

#[test]
fn uuids_have_one_spelling() {
    let canonical = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    same_key(
        PlaceholderType::Uuid,
        canonical,
        &[
            canonical,
            "67E55044-10B1-426F-9247-BB680E5FE0C8",
            "67e5504410b1426f9247bb680e5fe0c8",
            "67E5504410b1426F9247bb680e5fe0C8",
        ],
    );
    refused(
        PlaceholderType::Uuid,
        &[
            "67e55044-10b1-426f-9247-bb680e5fe0c",
            "67e55044-10b1-426f-9247-bb680e5fe0c8a",
            "67e5504410b1426f9247bb680e5fe0c",
            "67e5504-410b1-426f-9247-bb680e5fe0c8",
            "67e55044-10b1-426f-9247_bb680e5fe0c8",
            "67e55044-10b1426f-9247-bb680e5fe0c8",
            "67e5504410b1-426f-9247-bb680e5fe0c8-",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            "g7e55044-10b1-426f-9247-bb680e5fe0c8",
            "--------------------------------",
            "ööööööööööööööööööö",
        ],
    );
}

#[test]
fn lower_case_is_unicodes() {
    same_key(PlaceholderType::Lower, "ann", &["ann", "Ann", "ANN"]);
    same_key(PlaceholderType::Lower, "%C3%B6", &["Ö", "ö"]);
    same_key(PlaceholderType::Lower, "a%2Fb", &["A/B"]);
}

#[test]
fn empty_and_long_values_are_refused_whatever_the_type() {
    for ty in PlaceholderType::ALL {
        assert_eq!(write(ty, "").unwrap_err().fault(), ValueFault::Empty);
        let long = "0".repeat(129);
        assert_eq!(
            write(ty, &long).unwrap_err().fault(),
            ValueFault::TooLong { bytes: 129, most: 128 }
        );
    }
    assert_eq!(write(PlaceholderType::Text, &"ö".repeat(64)).unwrap().len(), 384);
    assert_eq!(write(PlaceholderType::U64, &"0".repeat(128)).unwrap(), "0");
}

#[test]
fn an_error_never_shows_the_value() {
    let secret = "hunter2 ".repeat(40);
    for ty in PlaceholderType::ALL {
        let error = write(ty, &secret).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
    let error = write(PlaceholderType::Uuid, "hunter2").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(
        write(PlaceholderType::Text, &secret).unwrap_err().to_string(),
        "the value of `id` has 320 bytes; at most 128 are allowed"
    );
    assert_eq!(
        write(PlaceholderType::Text, "").unwrap_err().to_string(),
        "the value of `id` is empty"
    );
}

#[test]
fn a_refused_value_leaves_the_key_as_it_was() {
    let mut writer = KeyWriter::new();
    writer.literal("o:");
    writer.value("a", PlaceholderType::U64, "x").unwrap_err();
    writer.value("a", PlaceholderType::U64, "1").unwrap();
    assert_eq!(writer.finish().unwrap(), "o:1");
}

#[test]
fn a_key_has_at_most_512_bytes() {
    let mut writer = KeyWriter::new();
    writer.literal(&"x".repeat(512));
    assert_eq!(writer.clone().finish().unwrap().len(), 512);
    writer.literal("x");
    let error = writer.finish().unwrap_err();
    assert_eq!(error.fault(), ValueFault::KeyTooLong { bytes: 513 });
    assert_eq!(error.placeholder(), None);
}

#[test]
fn what_can_stand_in_a_placeholder() {
    fn part<T: KeyPart + ?Sized>(value: &T) -> String {
        value.key_part().into_owned()
    }
    assert_eq!(part(&u64::MAX), "18446744073709551615");
    assert_eq!(part(&i128::MIN), i128::MIN.to_string());
    assert_eq!(part(&true), "true");
    assert_eq!(part(&'/'), "/");
    assert_eq!(part("text"), "text");
    assert_eq!(part(&String::from("text")), "text");
    assert_eq!(part(&Box::<str>::from("text")), "text");
    assert_eq!(part(&Arc::<str>::from("text")), "text");
    assert_eq!(part(&Rc::<str>::from("text")), "text");
    assert_eq!(part(&Cow::Borrowed("text")), "text");
    assert_eq!(part(&&mut 7_u8), "7");
    assert_eq!(part(&Arc::new(7_u8)), "7");
}
