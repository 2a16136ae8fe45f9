//! `completions`.

use lock_tests::{LIMIT, bounded, workspace_binary};
use serde_json::Value;
use tokio::process::Command;

use crate::lockctl::program::run;

#[tokio::test]
async fn every_shell_has_its_own() {
    for (shell, part) in [
        ("bash", "complete -F _lockctl"),
        ("zsh", "#compdef lockctl"),
        ("fish", "complete -c lockctl"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let printed = run(&["completions", shell]).await;
        assert_eq!((printed.code, printed.err.as_str()), (0, ""), "{shell}");
        assert!(printed.out.contains(part) && printed.out.contains("inspect"), "{printed:?}");
    }
    assert_eq!(run(&["completions", "csh"]).await.code, 2);
    let document: Value =
        serde_json::from_str(&run(&["completions", "bash", "--json"]).await.out).unwrap();
    assert!(document["script"].as_str().unwrap().contains("complete -F _lockctl"));
}

/// As docs/lockctl.md has it.
#[tokio::test]
async fn bash_completes_a_command() {
    let directory = workspace_binary("lockctl").await;
    let path = format!("{}:/usr/bin:/bin", directory.parent().unwrap().display());
    let script = "source <(lockctl completions bash); COMP_WORDS=(lockctl ins); COMP_CWORD=1; \
                  _lockctl lockctl ins lockctl; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).env("PATH", path);
    let output = bounded(LIMIT, bash.output()).await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "inspect\n", "{error}");
}
