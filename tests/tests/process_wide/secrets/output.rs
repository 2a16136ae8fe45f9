//! All that is shown, by this process as a whole.

use std::{
    cell::Cell,
    error::Error,
    fmt::Debug,
    hint::black_box,
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, Once, PoisonError},
};

use tracing_subscriber::filter::LevelFilter;

static SHOWN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static COLLECTED: Once = Once::new();

thread_local! {
    static PANICS_ARE_SHOWN: Cell<bool> = const { Cell::new(false) };
}

struct Shown;

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SHOWN.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From here on everything that is logged, by whichever crate, is among what is shown.
pub(crate) fn collect() {
    COLLECTED.call_once(|| {
        let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
        log.with_ansi(false).with_writer(|| Shown).init();
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| match PANICS_ARE_SHOWN.get() {
            true => show(&panicked.to_string()),
            false => hook(panicked),
        }));
    });
}

pub(crate) fn show(text: &str) {
    Shown.write_all(text.as_bytes()).unwrap();
    Shown.write_all(b"\n").unwrap();
}

pub(crate) fn show_debug(value: &impl Debug) {
    show(&format!("{value:?}\n{value:#?}"));
}

/// An error as programs print it: with all that is underneath, and as a panic.
pub(crate) fn show_error(error: &(impl Error + Clone + Send + Sync + 'static)) {
    show_debug(error);
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        show(&format!("{error} {error:?}"));
        cause = error.source();
    }
    let error = error.clone();
    PANICS_ARE_SHOWN.set(true);
    let panicked = panic::catch_unwind(AssertUnwindSafe(move || -> () {
        black_box(Err::<(), _>(error)).unwrap();
    }))
    .unwrap_err();
    PANICS_ARE_SHOWN.set(false);
    show(panicked.downcast_ref::<String>().expect("a panic has a message"));
}

pub(crate) fn all() -> String {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&shown).into_owned()
}

/// None of these is anywhere.
#[track_caller]
pub(crate) fn assert_hidden(secrets: &[&str]) {
    let shown = all();
    for secret in secrets {
        let Some(at) = shown.find(secret) else { continue };
        let around = shown.get(at.saturating_sub(200)..).unwrap_or(&shown[at..]);
        panic!("{secret} is shown: {}", &around.chars().take(600).collect::<String>());
    }
}
