//! The terminal: reads keys and the store, and draws.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use ratatui::DefaultTerminal;

use super::{
    Args, Inspected,
    screen::{self, Frames},
    table::{LockTable, Pressed},
};
use crate::{
    commands::inspect,
    live::Live,
    lock_row::LockRow,
    outcome::{CommandError, CommandOutput, CommandResult},
    visible::{visible, visible_lines},
};

pub(super) async fn watch(live: &Live, args: &Args) -> CommandResult {
    let seen = args.read(live).await?;
    let terminal = ratatui::try_init();
    let mut terminal = terminal.map_err(|why| unusable(&why))?;
    let watched = run(&mut terminal, live, args, seen).await;
    // Also after an error: the shell needs its terminal back.
    ratatui::restore();
    watched.map_err(|why| unusable(&why))?;
    Ok(CommandOutput::nothing())
}

async fn run(
    terminal: &mut DefaultTerminal,
    live: &Live,
    args: &Args,
    mut seen: Inspected,
) -> io::Result<()> {
    let title = match args.key_prefix.as_str() {
        "" => visible_lines(&live.note()),
        prefix => visible_lines(&format!("{}, {}", live.note(), visible(prefix))),
    };
    let mut keys = EventStream::new();
    let mut table = LockTable::default();
    let mut problem = incomplete(&seen);
    // A store that does not answer must not keep keys waiting, so both are awaited at once.
    let read_later = async || {
        tokio::time::sleep(args.period()).await;
        args.read(live).await
    };
    let mut reading = Box::pin(read_later());
    loop {
        table.rows = seen.locks.iter().map(|(key, lock)| LockRow::of(live, key, lock)).collect();
        let details = details(live, &table, &seen);
        let around =
            Frames { title: &title, problem: problem.as_deref(), details: details.as_deref() };
        terminal.draw(|frame| screen::draw(frame, &table, &around))?;
        tokio::select! {
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) if key.is_press() => {
                    if table.press(key) == Pressed::Quit {
                        return Ok(());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(why)) => return Err(why),
                None => return Ok(()),
            },
            read = &mut reading => {
                match read {
                    Ok(read) => {
                        problem = incomplete(&read);
                        seen = read;
                    }
                    Err(why) => problem = Some(format!("not read: {}", visible(&why.message))),
                }
                reading = Box::pin(read_later());
            }
        }
    }
}

fn incomplete(seen: &Inspected) -> Option<String> {
    let text = "there are more locks: name a prefix, or raise --limit";
    (!seen.complete).then(|| text.to_owned())
}

/// Returns the details of the selected lock, if they are to be shown.
fn details(live: &Live, table: &LockTable, seen: &Inspected) -> Option<String> {
    let selected = table.selected.as_ref().filter(|_| table.details)?;
    let found = seen.locks.iter().find(|(key, _)| visible(key.as_str()) == *selected);
    Some(match found {
        Some((_, lock)) => inspect::screen(live, selected, lock),
        None => format!("{selected}: not held"),
    })
}

fn unusable(why: &io::Error) -> CommandError {
    CommandError::usage(&format!("the terminal cannot be used: {why}"))
}
