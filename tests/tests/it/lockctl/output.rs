//! An output that takes no more.

use std::fs::File;

use lock_tests::{LIMIT, bounded};

use crate::lockctl::program::{Run, program};

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_error() {
    for args in [&["schema"][..], &["schema", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = program().await;
        command.args(args).stdout(writer).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let run = Run::of(bounded(LIMIT, child.wait_with_output()).await.unwrap());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_lost_output_is_reported() {
    let mut command = program().await;
    let full = File::options().write(true).open("/dev/full").unwrap();
    command.arg("schema").stdout(full).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let run = Run::of(bounded(LIMIT, child.wait_with_output()).await.unwrap());
    assert_eq!(run.code, 5);
    assert!(run.err.contains("the output cannot be written"), "{run:?}");
}
