use lock_core::__private::Kind;
use lock_model_check::{
    model::{Locks, Setup},
    texts::Texts,
};
use stateright::{Checker, Model};
#[test]
fn x() {
    let ops: u8 = std::env::var("OPS").unwrap_or("3".into()).parse().unwrap();
    let clients: u8 = std::env::var("CLIENTS").unwrap_or("2".into()).parse().unwrap();
    let late: u8 = std::env::var("LATE").unwrap_or("1".into()).parse().unwrap();
    let kind = match std::env::var("KIND").unwrap_or("rw".into()).as_str() {
        "rw" => Kind::ReadWrite,
        "frw" => Kind::FairReadWrite,
        "lock" => Kind::Reentrant,
        "fair" => Kind::Fair,
        "fenced" => Kind::Fenced,
        "sem" => Kind::Semaphore,
        _ => panic!(),
    };
    let one = std::env::var("ONE").is_ok();
    let setup = Setup {
        leases: if one { &[1500] } else { &[1500, 2500] },
        waits: std::env::var("NOWAIT").is_err(),
        operations: ops,
        clients,
        late,
        converts: std::env::var("CONV").is_ok(),
        force: std::env::var("FORCE").is_ok(),
        ..Setup::of("x", kind)
    };
    let start = std::time::Instant::now();
    let checker = Locks::new(setup, Texts::real())
        .checker()
        .threads(2)
        .finish_when(stateright::HasDiscoveries::Any)
        .spawn_bfs()
        .join();
    println!(
        "states {} unique {} depth {} in {:?}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        start.elapsed()
    );
    for (name, path) in checker.discoveries() {
        println!("BROKEN {name}");
        let actions: Vec<_> = path.clone().into_actions();
        for action in actions {
            println!("  {action:?}");
        }
        let w = path.last_state();
        println!("{:?}", w.redis);
        for c in &w.clients {
            println!("{c:?}");
        }
    }
}
