//! `man`.

use serde_json::Value;

use crate::lockctl::program::run;

/// The long options of a help text, each of which begins a line.
fn options(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| line.split(' ').find(|word| word.starts_with("--")))
}

#[tokio::test]
async fn the_page_has_every_command_and_option() {
    let printed = run(&["man"]).await;
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    let page = printed.out.replace("\\-", "-");
    assert!(page.contains(".TH lockctl 1 "), "{page}");

    let help = run(&["--help"]).await.out;
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = commands.filter(|line| !line.starts_with(' '));
    let commands: Vec<_> = commands.filter_map(|line| line.split(' ').next()).collect();
    assert!(commands.contains(&"inspect"), "{help}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let heading = format!(".SS \"lockctl {command}\"\n");
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("{command}: {page}"));
        let (section, _) = section.split_once("\n.SS ").unwrap_or((section, ""));
        let help = run(&[command, "--help"]).await.out;
        let about = help.lines().next().unwrap();
        assert!(section.contains(about), "{command}: {section}");
        // Options of all commands are above the commands, with those of the store.
        let (above, _) = page.split_once(".SH COMMANDS").unwrap();
        for option in options(&help) {
            let entry = format!("\\fB{option}\\fR");
            assert!(section.contains(&entry) || above.contains(&entry), "{command} {option}");
        }
    }
    for heading in ["\"EXIT STATUS\"", "ENVIRONMENT", "EXAMPLES", "\"SEE ALSO\""] {
        assert!(page.contains(&format!("\n.SH {heading}\n")), "{heading}");
    }
    assert!(!page.contains("default: ]"), "{page}");
    let document: Value = serde_json::from_str(&run(&["man", "--json"]).await.out).unwrap();
    assert_eq!(document["page"].as_str().map(str::trim_end), Some(printed.out.trim_end()));
}
