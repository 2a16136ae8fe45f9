//! Server-sent events: the page again, as long as it is open.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::sse::{Event, Sse};
use futures_util::{Stream, stream};
use tokio::time::{Instant, sleep_until};

use super::{
    answer::Refusal,
    query::{Format, Subject},
    reader::Reader,
    shell, view,
};

/// How often an open page is renewed.
const PERIOD: Duration = Duration::from_secs(2);
/// How often within one response. The browser then connects again, so an open page does not hold up the
/// graceful shutdown of the server for longer.
const EVENTS: u32 = 5;
/// How long the browser waits before that.
const RECONNECT: Duration = Duration::from_secs(1);

pub(crate) fn events(
    reader: Arc<Reader>,
    subject: Subject,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>, Refusal> {
    let stream = Arc::clone(&reader.streams).try_acquire_owned();
    let stream = stream.map_err(|_| Refusal::too_many(Format::Json))?;
    let begin = Instant::now();
    Ok(Sse::new(stream::unfold(0, move |sent| {
        let _ = &stream;
        let (reader, subject) = (Arc::clone(&reader), subject.clone());
        async move {
            if sent == EVENTS {
                return None;
            }
            sleep_until(begin + PERIOD * sent).await;
            Some((Ok(event(&reader, &subject).await), sent + 1))
        }
    })))
}

async fn event(reader: &Reader, subject: &Subject) -> Event {
    let content = match reader.read(subject).await {
        Ok(seen) => view::content(subject, &seen),
        Err(why) => shell::not_read(&why.to_string()),
    };
    Event::default().retry(RECONNECT).data(content.into_string())
}
