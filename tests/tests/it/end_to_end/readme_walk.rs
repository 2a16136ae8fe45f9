//! The steps of docs/policy-files.md: an empty project, a policy in shadow mode, an enforced one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ::http::Method;
use lock_tests::{LIMIT, Process, RedisServer, http};

const GUIDE: &str = include_str!("../../../../docs/policy-files.md");
const TITLE: &str = "## From an empty project to an enforced lock";
/// The workspace's own: its versions and its profile, so that nothing is built twice.
const LOCK: &str = include_str!("../../../../Cargo.lock");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

/// The section's code blocks in this language, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let section = GUIDE.split(TITLE).nth(1).unwrap().split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    section.split(&fence).skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// Writes the project of the guide, except that the library comes from this workspace.
fn write_project(place: &Path, policies: &str) {
    let [dependencies, ..] = blocks("toml")[..] else { panic!("no Cargo.toml in the guide") };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = format!("lock-tower = {{ path = \"{}\" }}", root.join("lock-tower").display());
    let dependencies = dependencies.replace("lock-tower = \"0.1\"", &source);
    assert!(dependencies.contains(&source), "{dependencies}");
    let profile = WORKSPACE.split("\n[profile.").skip(1).map(|part| format!("[profile.{part}\n"));
    let manifest = format!(
        "[package]\nname = \"shop\"\nedition = \"2024\"\n\n{dependencies}\n[workspace]\n\n{}",
        profile.collect::<String>()
    );
    fs::create_dir(place.join("src")).unwrap();
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    fs::write(place.join("Cargo.lock"), LOCK).unwrap();
    fs::write(place.join("src/main.rs"), blocks("rust,ignore")[0]).unwrap();
    fs::write(place.join("locks.toml"), policies).unwrap();
}

/// Builds it, beside the running test's own programs.
fn build(place: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--target-dir"])
        .arg(target)
        .current_dir(place)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug/shop")
}

/// Two changes of one order at once; their statuses, the lower first.
async fn change_twice_at_once(port: u16) -> [u16; 2] {
    let url = format!("http://127.0.0.1:{port}/orders/7");
    assert!(blocks("sh")[0].contains("-X PUT http://127.0.0.1:3000/orders/7"));
    let put = || http::request(Method::PUT, &url, "");
    let (one, other) = tokio::join!(put(), put());
    let mut statuses = [one.unwrap().status, other.unwrap().status];
    statuses.sort_unstable();
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_a_policy_file_in_shadow_mode() {
    let redis = RedisServer::start().await;
    let project = tempfile::tempdir().unwrap();
    let [_, policies, enforced] = blocks("toml")[..] else {
        panic!("the guide has other blocks of TOML")
    };
    write_project(project.path(), policies);
    let place = project.path().to_owned();
    let program = tokio::task::spawn_blocking(move || build(&place)).await.unwrap();

    let port = lock_tests::free_port();
    let shop = Process::builder(program)
        .directory(project.path())
        .env("PORT", port.to_string())
        .env("REDIS_URL", redis.url())
        .env("NO_COLOR", "1")
        .start();
    shop.line("policies in force version=1", LIMIT).await;
    let health = format!("http://127.0.0.1:{port}/health");
    lock_tests::eventually("the shop", LIMIT, async || {
        http::request(Method::GET, &health, "").await.is_ok()
    })
    .await;

    assert_eq!(change_twice_at_once(port).await, [200, 200]);
    shop.line("policy=\"order\" would=\"refuse\"", LIMIT).await;

    let file = project.path().join("locks.toml");
    let enforced = policies.replace("enforce = \"shadow\"", enforced.trim());
    fs::write(&file, &enforced).unwrap();
    shop.line("policies in force version=2", LIMIT).await;
    assert_eq!(change_twice_at_once(port).await, [200, 423]);

    let reported = blocks("text")[0].trim();
    fs::write(&file, enforced.replace("{id:u64}", "{order:u64}")).unwrap();
    shop.line(reported, LIMIT).await;
    assert_eq!(change_twice_at_once(port).await, [200, 423], "what was in force stays in force");
}
