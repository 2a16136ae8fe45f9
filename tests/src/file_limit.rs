//! The number of files, and so connections, that a process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files of this process to at least this number, up to its hard limit.
pub fn raise_file_limit(least: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= least) {
        return;
    }
    if let Some(maximum) = maximum.filter(|maximum| *maximum < least) {
        panic!(
            "{least} open files are needed, and the hard limit is {maximum}: raise it with \
             `ulimit -Hn {least}` as root, or LimitNOFILE of the service that runs this"
        );
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(least), maximum });
    raised.expect("any process may set a soft limit up to the hard one");
}
