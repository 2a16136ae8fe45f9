//! The signals by which an operating system, a container or a terminal stops a service.

use std::{future::Future, io};

use futures_util::future::{Either, pending};

/// Returns a future that completes when the process is told to stop: on Unix by SIGTERM, which Kubernetes,
/// Docker and systemd send, or by SIGINT (Ctrl-C); on Windows by Ctrl-C, Ctrl-Break, the end of its console or
/// the shutdown of the system.
///
/// For `axum::serve(..).with_graceful_shutdown(shutdown_signal())`: the requests in progress end with their
/// answers, so their locks are released. Without it, SIGTERM kills the process, and its locks stay until their
/// leases end. Call [`LockClient::shutdown`](crate::LockClient::shutdown) after the server has returned.
///
#[cfg_attr(feature = "axum", doc = "```no_run")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// # use axum::Router;
/// # use lock_tower::{LockClient, shutdown_signal};
/// # use std::time::Duration;
/// # async fn run(app: Router, locks: LockClient) -> Result<(), Box<dyn std::error::Error>> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// axum::serve(listener, app).with_graceful_shutdown(shutdown_signal()).await?;
/// locks.shutdown(Duration::from_secs(5)).await?;
/// # Ok(()) }
/// ```
///
/// The signals are caught from this call on, for the rest of the process: later ones have no effect. A server
/// that waits for long requests should bound that time.
///
/// If the signals cannot be caught, the log has an error, and the future never completes: the signals
/// then kill the process, as they do without this function.
///
/// # Panics
///
/// If called outside of a Tokio runtime with I/O enabled.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    match caught() {
        Ok(signal) => Either::Left(async move {
            let name = signal.await;
            tracing::info!(signal = name, "the process is told to stop");
        }),
        Err(error) => {
            tracing::error!(%error, "the signals that stop this process cannot be caught: they will kill it");
            Either::Right(pending())
        }
    }
}

/// Returns the name of the first signal.
#[cfg(unix)]
fn caught() -> io::Result<impl Future<Output = &'static str> + Send + 'static> {
    use std::{future::poll_fn, task::Poll};

    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(poll_fn(move |context| {
        if terminate.poll_recv(context).is_ready() {
            return Poll::Ready("SIGTERM");
        }
        interrupt.poll_recv(context).map(|_| "SIGINT")
    }))
}

/// Returns the name of the first event.
#[cfg(windows)]
fn caught() -> io::Result<impl Future<Output = &'static str> + Send + 'static> {
    use std::{future::poll_fn, task::Poll};

    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

    let mut keys = (ctrl_c()?, ctrl_break()?);
    let mut ends = (ctrl_close()?, ctrl_shutdown()?);
    Ok(poll_fn(move |context| {
        if keys.0.poll_recv(context).is_ready() {
            return Poll::Ready("Ctrl-C");
        }
        if keys.1.poll_recv(context).is_ready() {
            return Poll::Ready("Ctrl-Break");
        }
        if ends.0.poll_recv(context).is_ready() {
            return Poll::Ready("the end of the console");
        }
        ends.1.poll_recv(context).map(|_| "the shutdown of the system")
    }))
}
