//! How many files, and so connections, a process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Has this process open at least so many files, as far as its hard limit goes.
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
    raised.expect("a soft limit up to the hard one is everybody's to set");
}
