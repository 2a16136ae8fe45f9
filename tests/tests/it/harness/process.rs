//! Child processes speak, stand still and end.

use lock_tests::{LIMIT, Process, ProcessBuilder, eventually};

fn shell(script: &str) -> ProcessBuilder {
    Process::builder("/bin/sh").arg("-c").arg(script)
}

#[tokio::test]
async fn a_line_is_awaited_and_the_environment_is_passed() {
    let process = shell(r#"echo other; echo "port $PORT"; exec cat /dev/zero >/dev/null"#);
    let process = process.env("PORT", "3000").start();
    assert_eq!(process.line("port", LIMIT).await, "port 3000");
    assert!(process.is_running());
}

#[tokio::test]
async fn output_arrives_line_by_line() {
    let process = shell(r#"while read line; do echo "received $line"; done"#).hears().start();
    process.say("one");
    process.line("received one", LIMIT).await;
    process.say("two");
    process.line("received two", LIMIT).await;
}

#[tokio::test]
async fn an_exit_shows_its_status_and_all_output() {
    let process = shell("echo out; echo err >&2; exit 3").start();
    assert_eq!(process.exited(LIMIT).await.code(), Some(3));
    let output = process.output();
    assert!(output.contains("out") && output.contains("err"), "{output}");
}

#[tokio::test]
async fn an_end_without_the_line_fails_at_once_with_the_output() {
    let process = shell("echo broken").start();
    let awaited = tokio::spawn(async move { process.line("ready", LIMIT).await });
    let panic = awaited.await.unwrap_err().into_panic();
    let text = *panic.downcast::<String>().unwrap();
    assert!(text.contains("ended without") && text.contains("broken"), "{text}");
}

#[tokio::test]
async fn a_paused_process_makes_no_step_until_it_resumes() {
    let ticks = "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.01; done";
    let process = shell(ticks).start();
    process.line("tick 3", LIMIT).await;
    process.pause();
    // Its earlier output is read first: until two reads in a row are equal.
    let settled = async || {
        let before = process.output();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        before == process.output()
    };
    eventually("silence", LIMIT, settled).await;
    let ticks = process.output().lines().count();
    process.resume();
    process.line(&format!("tick {}", ticks + 1), LIMIT).await;
}

#[tokio::test]
async fn a_kill_ends_a_paused_process() {
    let process = shell("echo ready; exec sleep 1000").start();
    process.line("ready", LIMIT).await;
    process.pause();
    process.kill();
    assert!(!process.is_running());
    assert!(!process.exited(LIMIT).await.success());
}

#[tokio::test]
async fn terminate_lets_it_clean_up() {
    let process = shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let process = process.start();
    process.line("ready", LIMIT).await;
    process.terminate();
    assert!(process.exited(LIMIT).await.success());
    assert!(process.output().contains("bye"));
}

#[tokio::test]
async fn a_dropped_process_is_gone() {
    let process = shell("echo ready; exec sleep 1000").start();
    process.line("ready", LIMIT).await;
    let pid = rustix::process::Pid::from_raw(process.pid().cast_signed()).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_ok());
    drop(process);
    assert!(rustix::process::test_kill_process(pid).is_err());
}
