//! The program shows what it promises, wherever `DATABASE_URL` points.

use lock_tests::{LIMIT, Process};

use crate::databases::{Database, on_every_database};

on_every_database! { it_ends_with_the_second_holders_write }

async fn it_ends_with_the_second_holders_write(database: Database) {
    let program = env!("CARGO_BIN_EXE_fenced-sql");
    let program = Process::builder(program).env("DATABASE_URL", database.url()).start();
    let status = program.exited(LIMIT).await;
    let output = program.output();
    assert!(status.success(), "{status}: {output}");
    assert!(output.contains("first writes 70: refused"), "{output}");
    assert_eq!(database.balance().await, 50, "in this database");
}
