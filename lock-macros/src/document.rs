//! A document of lock-tower's `guide/`, which is the repository's `docs/`, as text for rustdoc. A path
//! in the repository leads nowhere there, so links to documents become links to their modules in
//! `lock_tower::guide`, and all others lead to the repository's site.

use std::{env, fs, path::Path};

use syn::{Error, LitStr, Result};

pub(crate) fn read(name: &LitStr) -> Result<String> {
    let variable = |name| env::var(name).unwrap_or_default();
    let path = Path::new(&variable("CARGO_MANIFEST_DIR")).join("guide").join(name.value());
    let text = fs::read_to_string(&path)
        .map_err(|error| Error::new(name.span(), format!("{}: {error}", path.display())))?;
    Ok(with_links(&text, &name.value(), &variable("CARGO_PKG_REPOSITORY")))
}

fn with_links(text: &str, name: &str, repository: &str) -> String {
    let folder = Path::new("docs").join(name);
    let folder = folder.parent().unwrap_or(Path::new(""));
    let (mut is_code, mut written) = (false, String::new());
    for line in text.split_inclusive('\n') {
        is_code ^= line.starts_with("```");
        let mut rest = line;
        while let Some((before, (link, after))) =
            rest.split_once("](").and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            let is_kept = is_code || link.contains("://") || link.starts_with('#');
            let is_picture = before.rsplit_once('[').is_some_and(|(to, _)| to.ends_with('!'));
            let target = || target(link, folder, is_picture, repository);
            let target = if is_kept { link.to_owned() } else { target() };
            written.extend([before, "](", &target, ")"]);
            rest = after;
        }
        written.push_str(rest);
    }
    written
}

fn target(link: &str, folder: &Path, is_picture: bool, repository: &str) -> String {
    let mut path = folder.to_owned();
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, to)| (file, Some(to)));
    for part in file.split('/') {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    let path = path.to_string_lossy().replace('\\', "/");
    let document = path.strip_prefix("docs/").and_then(|path| path.strip_suffix(".md"));
    let target = match document {
        Some("README") => "crate::guide".to_owned(),
        Some(name) => format!("crate::guide::{}", name.replace('/', "::").replace('-', "_")),
        None => format!("{repository}/{}/main/{path}", if is_picture { "raw" } else { "blob" }),
    };
    heading.map_or(target.clone(), |heading| format!("{target}#{heading}"))
}

#[cfg(test)]
mod tests {
    use super::with_links;

    #[test]
    fn links_lead_to_modules_or_to_the_repository() {
        for (name, text, expected) in [
            (
                "a.md",
                "[b](b-c.md#d), [e](e/f.md)",
                "[b](crate::guide::b_c#d), [e](crate::guide::e::f)",
            ),
            (
                "e/f.md",
                "[b](../b.md) [g](g.md)\n",
                "[b](crate::guide::b) [g](crate::guide::e::g)\n",
            ),
            ("e/f.md", "[r](../../README.md#x)", "[r](https://forge/blob/main/README.md#x)"),
            (
                "a.md",
                "[`x`](../x) and ![p](p.png)",
                "[`x`](https://forge/blob/main/x) and ![p](https://forge/raw/main/docs/p.png)",
            ),
            (
                "a.md",
                "[i](README.md), [h](#h), [w](https://w/x.md)",
                "[i](crate::guide), [h](#h), [w](https://w/x.md)",
            ),
            ("a.md", "```\n[b](b.md)\n```\n", "```\n[b](b.md)\n```\n"),
        ] {
            assert_eq!(with_links(text, name, "https://forge"), expected);
        }
    }
}
