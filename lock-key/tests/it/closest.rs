//! Which word was meant.

use lock_key::closest;

#[test]
fn a_word_is_close_when_a_third_of_its_letters_differ() {
    assert_eq!(closest("abc", [""]), None);
    assert_eq!(closest("order_id", ["other", "order_id"]), Some("order_id"));
    assert_eq!(closest("oder_id", ["id", "order_id"]), Some("order_id"));
    assert_eq!(closest("sit", ["sat", "sets"]), Some("sat"));
    assert_eq!(closest("kitten", ["sitten"]), Some("sitten"));
    assert_eq!(closest("kitten", ["sittin"]), Some("sittin"));
    assert_eq!(closest("kitten", ["sitting"]), None, "three of six letters differ");
}

#[test]
fn two_neighbours_in_the_wrong_order_are_one_mistake() {
    assert_eq!(closest("sol", ["slo"]), Some("slo"), "two replaced letters would be too many");
    assert_eq!(closest("lesae", ["lapse", "lease"]), Some("lease"));
}
