//! Text from outside that would control the terminal or the shell of the operator that reads it.

use std::process::Stdio;

use lock_core::LockClient;
use lock_tests::{LIMIT, RedisServer, bounded};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
};

use crate::lockctl::program::{Run, run, run_at};

/// Clears the screen in two ways, and turns the text around.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}2J\u{202e}b\u{2066}\u{61c}";
/// What a key may contain of it.
const HOSTILE_KEY: &str = "order:\u{202e}7\u{2066}\u{200e}";
const SHOWN_KEY: &str = r"order:\u{202e}7\u{2066}\u{200e}";

/// Asserts that nothing but line ends controls the terminal.
fn is_harmless(run: &Run) {
    for text in [&run.out, &run.err] {
        let bad = |c: &char| {
            c.is_control() && *c != '\n' && *c != '\t'
                || "\u{202e}\u{2066}\u{61c}\u{200e}".contains(*c)
        };
        assert_eq!(text.chars().find(bad), None, "{run:?}");
    }
}

#[tokio::test]
async fn arguments_are_shown_without_their_effect() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{HOSTILE}\n.toml")).display().to_string();
    let rule = "[[policy]]\nname = \"a\"\nmatch = { path = \"/{id}\" }\nkey = \"a:{id}\"\n";
    std::fs::write(&file, format!("version = 1\nallow_change = [\"\\u202e\\u001b\"]\n{rule}"))
        .unwrap();
    let good = folder.path().join("good.toml").display().to_string();
    std::fs::write(&good, format!("version = 1\n{rule}")).unwrap();
    let lines = format!("{HOSTILE}\nok: all.toml");
    for args in [
        &["check", &file][..],
        &["check", &lines],
        &["explain", &good, "PUT", &format!("/{lines}")],
        &["explain", &lines, "PUT", "/"],
        &["list", "--limit", &lines],
        &["list", &format!("--limit={lines}")],
        &["list", "--url", &format!("redis://{lines}")],
        &["list", "--url", &format!("{lines}://host")],
        &["list", "--prefix", &lines],
        &["inspect", &lines],
        &["release", "--ask", &lines],
        &["release", &lines],
        &[&lines],
    ] {
        let printed = run_at("redis://127.0.0.1:1", args).await;
        is_harmless(&printed);
        assert!(!printed.err.contains("\nok: all.toml"), "{args:?}: {printed:?}");
        assert!(!printed.out.contains("\nok: all.toml"), "{args:?}: {printed:?}");
        let printed = run_at("redis://127.0.0.1:1", &[args, &["--json"]].concat()).await;
        is_harmless(&printed);
        printed.json();
    }
    let printed = run(&["check", &lines]).await;
    assert!(
        printed.err.contains(r"a\u{1b}[2J\u{9b}2J\u{202e}b\u{2066}\u{61c}\u{a}ok"),
        "{printed:?}"
    );
    let printed = run(&["--json", "check", &lines]).await;
    assert_eq!(printed.json()["files"][0]["file"], lines.as_str(), "JSON has the text itself");
}

#[tokio::test]
async fn what_is_in_the_store_is_shown_without_its_effect() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let cli = redis.cli().await;
    let locks = LockClient::builder()
        .client_name("or\u{202e}ders", "\u{61c}one")
        .connect(&url)
        .await
        .unwrap();
    let held =
        locks.write(HOSTILE_KEY).name("up\u{202e}date").lease(LIMIT).acquire().await.unwrap();
    held.ensure(LIMIT / 2).await.unwrap();
    // Anything can be written down there.
    let owner = locks.inspect(HOSTILE_KEY).await.unwrap().holders[0].owner.clone();
    let work = r#"{"name":"\u001b[2J\u202e","route":"\u009b2J","also_holds":["\u202e\u001b"],"waits_for":"\u202e"}"#;
    let () = cli.query(&["SET", &format!("lock_client:{owner}"), work]).await;
    for args in [
        &["list"][..],
        &["list", "--long"],
        &["list", "\u{202e}"],
        &["inspect", HOSTILE_KEY],
        &["graph"],
        &["release", HOSTILE_KEY],
        &["release", "--ask", HOSTILE_KEY],
        &["release", "--force", HOSTILE_KEY],
    ] {
        let printed = run_at(&url, args).await;
        is_harmless(&printed);
        if args.contains(&HOSTILE_KEY) || matches!(args, ["list"] | ["list", "--long"]) {
            let both = format!("{}{}", printed.out, printed.err);
            assert!(both.contains(SHOWN_KEY), "{args:?}: {printed:?}");
        }
        let printed = run_at(&url, &[args, &["--json"]].concat()).await;
        is_harmless(&printed);
        printed.json();
    }
}

#[tokio::test]
async fn an_error_of_the_server_is_shown_without_its_effect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    let refused = format!("-NOPERM {HOSTILE} no\r\n").repeat(8);
                    if stream.write_all(refused.as_bytes()).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    for args in
        [&["list"][..], &["inspect", "a"], &["release", "--force", "a"], &["list", "--json"]]
    {
        let printed = run_at(&url, args).await;
        assert_eq!(printed.code, 4, "{printed:?}");
        is_harmless(&printed);
    }
    server.abort();
}

/// The lines that an operator copies give the program the key, whatever it is.
#[tokio::test]
async fn a_command_to_copy_has_exactly_the_key() {
    for key in [
        "order:42",
        "a'b",
        "'; echo $(id) `id` \"",
        "-x",
        "!!\\n\\",
        "\u{202e}it's\\",
        "a\u{1b}1\n'",
    ] {
        let printed = run(&["release", "--", key]).await;
        is_harmless(&printed);
        let commands: Vec<_> =
            printed.err.lines().filter_map(|line| line.split_once(":  ")).collect();
        assert_eq!(commands.len(), 3, "{printed:?}");
        for (_, command) in commands {
            let script = format!("lockctl() {{ printf '<%s>' \"$@\"; }}; {}", command.trim());
            let mut shell = Command::new("bash");
            let output = shell.args(["-c", &script]).stdin(Stdio::null()).output();
            let output = bounded(LIMIT, output).await.unwrap();
            let given = String::from_utf8(output.stdout).unwrap();
            assert!(given.ends_with(&format!("<{key}>")), "{command}: {given}");
            let words = given.strip_suffix(&format!("<{key}>")).unwrap();
            let options = ["<release><--ask>", "<inspect>", "<release><--force>"];
            assert!(options.contains(&words.replace("<-->", "").as_str()), "{command}: {given}");
        }
    }
}
