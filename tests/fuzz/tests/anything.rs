//! The corpus of each target, then random bytes: a fuzzer's under `cargo bolero`, a bounded number
//! otherwise.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

/// In `cargo test`: a second or two for each target.
const RANDOM_INPUTS: usize = 20_000;
const LONGEST: usize = 4_096;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let files = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    let files: Vec<_> = files.collect();
    assert!(!files.is_empty(), "{folder:?} is empty");
    files
}

macro_rules! targets {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            for input in corpus(stringify!($target)) {
                lock_fuzz::$target(&input);
            }
            bolero::check!()
                .with_iterations(RANDOM_INPUTS)
                .with_max_len(LONGEST)
                .for_each(|input: &[u8]| lock_fuzz::$target(input));
        }
    )*};
}

targets! {
    deadline_header
    keys
    policy_file
    redis_pushes
    redis_replies
    redis_streams
    redis_urls
    request_keys
    template
    tickets
    work_records
}
