//! The Lua scripts under a model checker, on a small Redis in memory.
//!
//! See `README.md` for what is checked, within which bounds, and which broken scripts are caught.
#![allow(
    clippy::missing_panics_doc,
    reason = "a test's tools fail it by panicking: said once, here"
)]

pub mod lua;
pub mod redis;
pub mod texts;

#[cfg(test)]
mod smoke {
    #[test]
    fn x() {
        use lock_core::__private::*;
        let key = lock_core::LockKey::try_from("k").unwrap();
        let c = Caller::new(Kind::ReadWrite, &key, "0-0-80-0-A:1");
        let ask = Ask {
            mode: Mode::Write,
            holds: 1,
            lease: std::time::Duration::from_millis(1500),
            yields: true,
            place: None,
            waited: Default::default(),
            permits: 1,
        };
        let t = crate::texts::Texts::real();
        let i = crate::lua::Interpreter::of_thread(&t);
        let mut r = crate::redis::Redis::at(1_700_000_000_000_000);
        let call = c.call(Step::Acquire(ask), "7");
        println!("{:?}", i.run(&mut r, &call));
        println!("{r:?}");
        let start = std::time::Instant::now();
        for _ in 0..100_000 {
            i.run(&mut r, &call);
        }
        println!("{:?} each {:?}", i.run(&mut r, &call), start.elapsed() / 100_000);
        let start = std::time::Instant::now();
        for _ in 0..100_000 {
            std::hint::black_box(c.call(Step::Acquire(ask), "7"));
        }
        println!("build each {:?}", start.elapsed() / 100_000);
        let start = std::time::Instant::now();
        for _ in 0..100_000 {
            std::hint::black_box(r.clone());
        }
        println!("clone each {:?}", start.elapsed() / 100_000);
    }
}
