//! The diff changes single values and nothing else.

use crate::lockctl::{
    advise::{recorded::Case, tens},
    program::run,
};

const MATCH: &str = "match = { path = \"/orders/{id}\" }\nkey = \"order:{id}\"\n";

/// Returns the file after its diff was applied.
async fn advised(policy: &str) -> String {
    let case = Case::new(policy);
    case.write("log", &tens(100, 9));
    let advised = case.advise(&["log"], &[]).await;
    assert_eq!(advised.code, 0, "{advised:?}");
    case.patch(&advised.out);
    let file = case.path("locks.toml").display().to_string();
    assert_eq!(run(&["check", &file]).await.code, 0, "{}", case.policy());
    case.policy()
}

#[tokio::test]
async fn a_value_is_replaced_where_it_stands() {
    let policy = |wait: &str| {
        format!("version = 1\n# a\n[[policy]] # b\nname = \"order\"\nwait   = {wait} # c\n{MATCH}")
    };
    assert_eq!(advised(&policy("'10ms'")).await, policy("\"100ms\""));
}

#[tokio::test]
async fn a_new_value_goes_below_the_name() {
    let policy = |wait: &str| {
        format!(
            "version = 1\n[defaults]\nwait = \"10ms\"\n\n[[policy]]\n  name = \"order\" # b\n{wait}{MATCH}\n\
             [policy.on_busy]\nstatus = 409\n\n[[policy]]\nname = \"other\"\n\
             match = {{ path = \"/\" }}\nkey = \"other\"\n"
        )
    };
    assert_eq!(advised(&policy("")).await, policy("  wait = \"100ms\"\n"));
}

#[tokio::test]
async fn inline_tables_and_other_line_breaks_stay() {
    let inline = |wait: &str| {
        let rule = "match = { path = \"/orders/{id}\" }, key = \"order:{id}\" }]";
        format!(
            "version = 1\ndefaults = {{ wait = \"10ms\" }}\npolicy = [{{ name = \"order\"{wait}, {rule}\n"
        )
    };
    assert_eq!(advised(&inline("")).await, inline(", wait = \"100ms\""));
    let breaks = |wait: &str| {
        format!(
            "version = 1\n[defaults]\nwait = \"10ms\"\n[[policy]]\nname = \"order\"\n{wait}{MATCH}"
        )
        .replace('\n', "\r\n")
    };
    assert_eq!(advised(&breaks("")).await, breaks("wait = \"100ms\"\n"));
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_proposed() {
    let case = Case::new(&format!(
        "version = 1\n[request]\ndeadline = \"50ms\"\n[[policy]]\nname = \"order\"\nwait = \"10ms\"\n{MATCH}"
    ));
    case.write("log", &tens(100, 9));
    let run = case.advise(&["log"], &[]).await;
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    assert!(run.err.contains("is not in the diff"), "{run:?}");
}
