//! The texts of `FencedTable`; `examples/fenced-sql` runs them on databases.

use lock_tower::{
    FencedTable,
    fence::{Claimed, SqlPlaceholders},
};

fn orders() -> FencedTable {
    FencedTable::new("orders", "id", "fence").unwrap()
}

#[test]
fn with_question_marks_the_token_has_two_places() {
    let orders = orders().placeholders(SqlPlaceholders::Question);
    let claim = r#"UPDATE "orders" SET "fence" = ? WHERE "id" = ? AND "fence" <= ?"#;
    assert_eq!(orders.claim_sql(), claim);
    let returning = orders.claim_returning_sql(&["state"]).unwrap();
    assert_eq!(returning, format!(r#"{claim} RETURNING "state""#));
    assert_eq!(
        orders.guarded_update_sql(&["state", "total"]).unwrap(),
        r#"UPDATE "orders" SET "state" = ?, "total" = ? WHERE "id" = ? AND "fence" = ?"#
    );
}

#[test]
fn with_numbers_it_has_one() {
    let claim = r#"UPDATE "orders" SET "fence" = $1 WHERE "id" = $2 AND "fence" <= $1"#;
    assert_eq!(orders().claim_sql(), claim);
    assert_eq!(orders().placeholders(SqlPlaceholders::Dollar), orders());
    assert_eq!(
        orders().guarded_update_sql(&["a", "b", "c"]).unwrap(),
        r#"UPDATE "orders" SET "a" = $1, "b" = $2, "c" = $3 WHERE "id" = $4 AND "fence" = $5"#
    );
}

#[test]
fn names_keep_their_case_and_may_be_words_of_sql() {
    let table = FencedTable::new("Shop.order", "_select", "Fence2").unwrap();
    assert_eq!(
        table.migration_sql(),
        r#"ALTER TABLE "Shop"."order" ADD COLUMN "Fence2" BIGINT NOT NULL DEFAULT 0"#
    );
    assert!(table.claim_sql().contains(r#"WHERE "_select" ="#));
}

#[test]
fn what_is_no_name_is_refused_with_what_to_do() {
    let long = "a".repeat(64);
    let other = "other characters";
    for (name, why) in [
        ("", "empty"),
        ("a b", other),
        ("a\"b", other),
        ("\"orders\"", other),
        ("orders; DROP TABLE orders", other),
        ("größe", other),
        ("1st", "begins with a digit"),
        (&long, "longer than 63"),
    ] {
        let errors = [
            FencedTable::new(name, "id", "fence").unwrap_err(),
            FencedTable::new("orders", name, "fence").unwrap_err(),
            FencedTable::new("orders", "id", name).unwrap_err(),
            orders().claim_returning_sql(&["state", name]).unwrap_err(),
            orders().guarded_update_sql(&[name]).unwrap_err(),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(text.contains(why) && text.contains(&format!("{name:?}")), "{text}");
            assert_eq!(error.name(), name);
        }
    }
    for table in [".orders", "shop.", "shop.1st", "a.b.c"] {
        let error = FencedTable::new(table, "id", "fence").unwrap_err();
        assert!(error.to_string().contains(table), "{error}");
    }
    assert!(FencedTable::new("orders", "shop.id", "fence").is_err());
}

#[test]
fn columns_that_would_undo_the_fence_are_refused() {
    assert!(FencedTable::new("orders", "id", "id").is_err());
    for (columns, named) in [(&["state", "fence"][..], "fence"), (&["id"], "id"), (&[], "orders")] {
        let error = orders().guarded_update_sql(columns).unwrap_err();
        assert_eq!(error.name(), named, "{error}");
    }
    assert!(orders().claim_returning_sql(&[]).is_err());
    assert!(orders().claim_returning_sql(&["id", "fence"]).is_ok(), "they may be read");
}

/// SQLite and MySQL take `Fence` and `fence` for one column.
#[test]
fn a_column_is_the_same_in_capitals() {
    assert!(FencedTable::new("orders", "id", "ID").is_err());
    assert!(orders().guarded_update_sql(&["FENCE"]).is_err());
}

#[test]
fn no_row_is_stale() {
    assert_eq!(Claimed::by(0), Claimed::Stale);
    assert_eq!(Claimed::by(1), Claimed::Ours);
    assert!(Claimed::by(1).is_ours() && !Claimed::by(0).is_ours());
}
