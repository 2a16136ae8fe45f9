use std::io;

use clap::{Args as _, Command, CommandFactory};
use clap_mangen::Man;
use roff::{Roff, bold, roman};
use serde_json::json;

use crate::{
    live::{STORE, StoreArgs},
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
};

const DESCRIPTION: &str = "\
lockctl checks and explains the policy files of lock-tower, and shows the locks that its services
hold in Redis or ZooKeeper.

It acquires no lock and renews none. \"release\" and \"permits KEY N\" change what the services see;
all other commands only read.

Keys, names and file names are printed with their control characters as codes.";

const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "LOCK_URL",
        "The services' Redis or ZooKeeper, unless --url is given. Other users of the machine can \
         see the arguments of a process, so a password belongs here.",
    ),
    ("REDIS_URL", "The same, where LOCK_URL is not set."),
    (
        "SSL_CERT_FILE",
        "Trusted certificates in PEM, in place of those of the system, for rediss:// and zookeepers://.",
    ),
    (
        "LOCK_TOWER_ENFORCE",
        "The kill switch of the services, which \"explain\" applies to the rules. Policy files may \
         name other variables, which \"check\" and \"explain\" read too.",
    ),
];

const EXAMPLES: [(&str, &str); 4] = [
    ("Check policy files in a pipeline:", "lockctl check locks.toml"),
    ("Find the rule of a request:", "lockctl explain locks.toml PUT /orders/7 -H 'x-tenant: acme'"),
    (
        "Show a lock that is in the way, and ask its holders to release it:",
        "lockctl inspect order:42\nlockctl release order:42 --ask",
    ),
    (
        "Read the holders by a program:",
        "lockctl inspect order:42 --json | jq -r '.holders[].service'",
    ),
];

const MORE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/lockctl.md");

/// Prints the manual page: see docs/lockctl.md for where man reads it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Args {
    #[allow(clippy::unused_self, reason = "as every command")]
    pub(crate) fn run(&self) -> CommandResult {
        let text = page().map_err(|why| CommandError::usage(&why.to_string()))?;
        let text = text.trim_end().to_owned();
        let json = json!({ "page": text });
        Ok(CommandOutput { exit: Exit::Done, text, note: String::new(), json })
    }
}

/// One page: clap's own sections, and one with all commands.
fn page() -> io::Result<String> {
    let command = crate::args::Args::command().subcommand_value_name("command");
    let man = Man::new(command.clone()).manual("lock-tower");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;

    let mut rest = Roff::new();
    rest.control("SH", ["DESCRIPTION"]);
    paragraphs(&mut rest, DESCRIPTION);
    rest.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    // With its heading, as those of the arguments.
    let store = StoreArgs::augment_args(Command::new("lockctl").disable_help_flag(true));
    Man::new(store).render_options_section(&mut page)?;

    Roff::new().control("SH", ["COMMANDS"]).to_writer(&mut page)?;
    for part in command.get_subcommands() {
        of_command(part, &mut page)?;
    }

    let mut rest = Roff::new();
    rest.control("SH", ["EXIT STATUS"]);
    paragraphs(&mut rest, crate::args::EXIT_CODES);
    rest.control("SH", ["ENVIRONMENT"]);
    for (name, text) in ENVIRONMENT {
        rest.control("TP", []).text([bold(name)]).text([roman(text)]);
    }
    rest.control("SH", ["EXAMPLES"]);
    for (about, example) in EXAMPLES {
        rest.control("PP", []).text([roman(about)]);
        rest.control("RS", []);
        preformatted(&mut rest, example);
        rest.control("RE", []);
    }
    rest.control("SH", ["SEE ALSO"]).text([roman(MORE)]);
    rest.to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// A command: its synopsis, its arguments, and the text below its help.
fn of_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = format!("lockctl {}", command.get_name());
    let mut rest = Roff::new();
    rest.control("SS", [name.as_str()]);
    rest.to_writer(page)?;
    // `--help` and `--json`, which every command has, are among the options of the page.
    let own = command.clone().bin_name(name).disable_help_flag(true);
    let own = own.mut_args(|arg| {
        let of_store = arg.get_help_heading() == Some(STORE);
        arg.hide(of_store)
    });
    let man = Man::new(own);
    page.extend(below_heading(|section| man.render_synopsis_section(section))?);
    let mut rest = Roff::new();
    if let Some(about) = command.get_about() {
        let store = if command.get_arguments().any(|arg| arg.get_help_heading() == Some(STORE)) {
            " The section STORE has further options."
        } else {
            ""
        };
        rest.control("PP", []).text([roman(format!("{about}.{store}"))]);
    }
    rest.to_writer(page)?;
    page.extend(below_heading(|section| man.render_options_section(section))?);
    let mut rest = Roff::new();
    if let Some(text) = command.get_after_help() {
        paragraphs(&mut rest, &text.to_string());
    }
    rest.to_writer(page)
}

/// The lines of a section without its heading, which is not one of the page.
fn below_heading(section: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    section(&mut lines)?;
    let lines = String::from_utf8_lossy(&lines);
    let (_, heading) = lines.split_once(".SH ").unwrap_or_default();
    Ok(heading.split_once('\n').unwrap_or_default().1.into())
}

/// Paragraphs, which an empty line ends. From its first indented line on, one stays as it is.
fn paragraphs(page: &mut Roff, text: &str) {
    for paragraph in text.split("\n\n") {
        page.control("PP", []);
        let prose = paragraph.find("\n ").unwrap_or(paragraph.len());
        page.text([roman(paragraph[..prose].replace('\n', " "))]);
        preformatted(page, paragraph[prose..].trim_start_matches('\n'));
    }
}

fn preformatted(page: &mut Roff, lines: &str) {
    if lines.is_empty() {
        return;
    }
    page.control("EX", []);
    for line in lines.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
}
