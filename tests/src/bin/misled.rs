//! Takes locks of all kinds, by several clients, in the store at `$LOCK_URL`, of which some answers are false.
//! `$AUTHORITY` is a certificate as PEM; `$PORTS` says where each port is reached, as `7000=8000,7001=8001`.
//!
//! A panic in any task ends it with the status 101, an operation without an outcome with 102. After a line of
//! standard input it prints the greatest amount of memory that it had, and ends.

use std::{env, fs, process::exit, time::Duration};

use clap::ValueEnum;
use fastrand::Rng;
use lock_core::{Kind, LockClient, LockClientBuilder, Tls};
use lock_tests::Wire;
use tokio::time::{sleep, timeout};

const CLIENTS: u64 = 16;
/// Of one client, one after the other. Then it connects anew.
const OPERATIONS: usize = 60;
const WAIT: Duration = Duration::from_millis(50);
/// Far beyond the waits and the timeouts of an operation.
const HANGS: Duration = Duration::from_secs(30);

const KINDS: [Kind; 6] = [
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fenced,
    Kind::Fair,
    Kind::ReadWrite,
    Kind::FairReadWrite,
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        exit(101);
    }));
    let url = env::var("LOCK_URL").expect("LOCK_URL");
    let wire = env::var("WIRE").map(|name| Wire::from_str(&name, false).expect("a wire"));
    for client in 0..CLIENTS {
        let builder = LockClient::builder()
            .connect_timeout(Duration::from_secs(1))
            .command_timeout(Duration::from_millis(200));
        let builder = match &wire {
            Ok(wire) => wire.on(builder),
            // A session.
            Err(_) => builder.lease(Duration::from_secs(3)).command_timeout(Duration::from_secs(1)),
        };
        let builder = match env::var("AUTHORITY") {
            Ok(pem) => builder.tls(Tls::new().authority(pem)),
            Err(_) => builder,
        };
        let builder = match env::var("PORTS") {
            Ok(ports) => builder.map_address(move |host, port| mapped(&ports, host, port)),
            Err(_) => builder,
        };
        tokio::spawn(run(builder, url.clone(), Rng::with_seed(client)));
    }
    println!("ready");
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    ended.await.expect("no panic").expect("an end");
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    println!("peak {}", peak.trim().trim_end_matches(" kB"));
    exit(0);
}

fn mapped(ports: &str, host: &str, port: u16) -> (String, u16) {
    let mut pairs = ports.split(',').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(from, _)| *from == port.to_string());
    // A false address is not reached.
    let to = found.map_or(1, |(_, to)| to.parse().expect("a port"));
    (host.to_owned(), to)
}

async fn run(builder: LockClientBuilder, url: String, mut rng: Rng) {
    loop {
        let Ok(client) = within("connect", builder.clone().connect(&url)).await else {
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        for _ in 0..OPERATIONS {
            operate(&client, &mut rng).await;
        }
    }
}

/// Whatever the outcome is, there is one.
async fn operate(client: &LockClient, rng: &mut Rng) {
    let key = format!("k{}", rng.u32(..4));
    match rng.u32(..12) {
        0 => drop(within("inspect", client.inspect(key)).await),
        1 => drop(within("list", client.list("", 100)).await),
        2 => drop(within("force_release", client.force_release(key)).await),
        3 => {
            let permit = client.semaphore("permits", 2).permit().wait(WAIT).acquire();
            drop(within("permit", permit).await);
        }
        4 => {
            let both = client.multi_lock([client.write("k0"), client.write("k1")]);
            drop(within("multi-lock", both.wait(WAIT).acquire()).await);
        }
        5 => {
            // A caller that does not stay.
            let dropped = client.fair(key).wait(WAIT).acquire();
            drop(timeout(Duration::from_micros(rng.u64(..800)), dropped).await);
        }
        choice => {
            let kind = KINDS[rng.usize(..KINDS.len())];
            // Of one kind each, or they refuse each other.
            let key = format!("{kind}-{key}");
            let lock = if choice % 2 == 0 { client.read(key) } else { client.write(key) };
            let Ok(guard) = within("acquire", lock.kind(kind).wait(WAIT).acquire()).await else {
                return;
            };
            if choice > 7 {
                drop(within("release", guard.release()).await);
            }
        }
    }
}

async fn within<F: Future>(operation: &str, future: F) -> F::Output {
    let Ok(outcome) = timeout(HANGS, future).await else {
        eprintln!("{operation} has no outcome after {HANGS:?}");
        exit(102);
    };
    outcome
}
