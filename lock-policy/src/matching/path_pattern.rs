//! Routes, as Axum 0.8 writes them.

use std::{fmt, ops::Range};

use percent_encoding::percent_decode_str;

use super::path_segment::{PathSegment, segment};

/// The path of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    source: String,
    segments: Vec<PathSegment>,
}

/// The reason why text is not the path of a route: its position, the error, and a correction.
#[derive(Debug)]
pub(crate) struct BadPath {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl PathPattern {
    pub(crate) fn parse(source: &str) -> Result<Self, BadPath> {
        let bad = |span, message: &str, help: String| {
            Err(BadPath { span, message: message.to_owned(), help })
        };
        let Some(below) = source.strip_prefix('/') else {
            let help = match source.split_once("://") {
                Some(_) => "leave out the scheme and the host, which is a field by itself: `host`"
                    .to_owned(),
                None => format!("write \"/{source}\""),
            };
            return bad(0..source.len(), "a path begins with `/`", help);
        };
        if let Some(at) = source.find(|c: char| matches!(c, '?' | '#') || c.is_control()) {
            let help =
                "a rule matches the path without the query; the key can have the query".to_owned();
            return bad(at..source.len(), "this is not part of a path", help);
        }
        let mut segments = Vec::new();
        let mut at = 1;
        for text in below.split('/') {
            let span = at..at + text.len();
            let is_last = span.end == source.len();
            at = span.end + 1;
            let segment = segment(text, is_last).map_err(|(message, help)| BadPath {
                span: span.clone(),
                message,
                help,
            })?;
            if let Some(name) = segment.name()
                && segments.iter().filter_map(PathSegment::name).any(|known| known == name)
            {
                let message = format!("the path has the parameter `{name}` twice");
                return Err(BadPath { span, message, help: "rename one of them".to_owned() });
            }
            segments.push(segment);
        }
        Ok(Self { source: source.to_owned(), segments })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns the names of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(PathSegment::name)
    }

    /// Whether it ends in `{*rest}`, so that routes below may have further parameters.
    pub fn has_rest(&self) -> bool {
        matches!(self.segments.last(), Some(PathSegment::Rest(_)))
    }

    /// Whether it has a segment without a parameter, so that not every path of its length matches.
    pub fn has_text(&self) -> bool {
        let is_text = |segment: &PathSegment| matches!(segment, PathSegment::Literal(text) if !text.is_empty());
        self.segments.iter().any(is_text)
    }

    /// Whether it applies to a route in the router: the same route, or one below it.
    pub fn covers(&self, route: &str) -> bool {
        if self.is(route) {
            return true;
        }
        let Some(PathSegment::Rest(name)) = self.segments.last() else {
            return false;
        };
        let above = &self.source[..self.source.len() - name.len() - "{*}".len()];
        route.strip_prefix(above).is_some_and(|below| !below.is_empty())
    }

    /// Whether a route is written just so.
    pub fn is(&self, route: &str) -> bool {
        self.source == route
    }

    /// Whether it applies to the end of a route, in whole segments, and not to the route.
    pub fn covers_end_of(&self, route: &str) -> bool {
        let mut ends = route.match_indices('/').skip(1).map(|(at, _)| &route[at..]);
        !self.covers(route) && ends.any(|end| end != "/" && self.covers(end))
    }

    /// Whether it seems meant for a route that it does not apply to: they differ only in the names of
    /// parameters, in upper and lower case, or by a slash at the end.
    pub fn nearly_covers(&self, route: &str) -> bool {
        let Ok(route) = Self::parse(route) else { return false };
        let mut theirs = route.without_slash().iter();
        let is_alike = self.without_slash().iter().all(|ours| match (ours, theirs.next()) {
            (PathSegment::Literal(one), Some(PathSegment::Literal(other)))
            | (PathSegment::Parameter(one, _), Some(PathSegment::Parameter(other, _))) => {
                one.eq_ignore_ascii_case(other)
            }
            (PathSegment::Rest(_), Some(_)) => true,
            _ => false,
        });
        is_alike && (self.has_rest() || theirs.next().is_none()) && !self.covers(&route.source)
    }

    fn without_slash(&self) -> &[PathSegment] {
        match self.segments.as_slice() {
            [segments @ .., PathSegment::Literal(last)] if last.is_empty() => segments,
            segments => segments,
        }
    }

    /// Returns a number for each segment, from the left: the less, the more specific. Of two
    /// patterns for one path a router chooses the smaller.
    pub(crate) fn breadth(&self) -> Vec<usize> {
        let breadth = |segment: &PathSegment| match segment {
            PathSegment::Literal(_) => 0,
            PathSegment::Parameter(before, _) => usize::MAX - 1 - before.len(),
            PathSegment::Rest(_) => usize::MAX,
        };
        self.segments.iter().map(breadth).collect()
    }

    /// Returns the parameters of a request's path, percent-decoded; `None` if the path does not
    /// match.
    pub fn captures(&self, path: &str) -> Option<Vec<(&str, String)>> {
        let mut rest = path.strip_prefix('/')?;
        let mut captured = Vec::new();
        for (nth, segment) in self.segments.iter().enumerate() {
            if nth > 0 && !matches!(segment, PathSegment::Rest(_)) {
                rest = rest.strip_prefix('/')?;
            }
            let (text, behind) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match segment {
                PathSegment::Literal(literal) if literal == text => {}
                PathSegment::Literal(_) => return None,
                PathSegment::Parameter(before, name) => {
                    let value = text.strip_prefix(before.as_str()).filter(|v| !v.is_empty())?;
                    captured.push((name.as_str(), decode(value)));
                }
                PathSegment::Rest(name) => {
                    let all = if nth > 0 { rest.strip_prefix('/')? } else { rest };
                    captured.push((name.as_str(), decode(all)));
                    return (!all.is_empty()).then_some(captured);
                }
            }
            rest = behind;
        }
        rest.is_empty().then_some(captured)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

fn decode(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::PathPattern;

    fn pattern(source: &str) -> PathPattern {
        PathPattern::parse(source).unwrap_or_else(|bad| panic!("{source}: {bad:?}"))
    }

    #[test]
    fn routes_are_compared_as_they_are_written() {
        for (rule, route, covers) in [
            ("/orders/{id}", "/orders/{id}", true),
            ("/orders/{id}", "/orders/{order}", false),
            ("/orders/{id}", "/orders/{id}/lines", false),
            ("/orders/{*rest}", "/orders/{id}/lines", true),
            ("/orders/{*rest}", "/orders/{*path}", true),
            ("/orders/{*rest}", "/orders/", false),
            ("/orders/{*rest}", "/orders", false),
            ("/orders/{*rest}", "/ordersheet/{id}", false),
            ("/{*rest}", "/orders", true),
            ("/{*rest}", "/", false),
            ("/", "/", true),
        ] {
            assert_eq!(pattern(rule).covers(route), covers, "{rule} {route}");
        }
    }

    #[test]
    fn the_end_of_a_route_is_told_from_the_route() {
        for (rule, route, is_end) in [
            ("/orders/{id}", "/api/orders/{id}", true),
            ("/orders/{id}", "/{tenant}/v1/orders/{id}", true),
            ("/orders/{*rest}", "/api/orders/{id}/lines", true),
            ("/orders/{id}", "/orders/{id}", false),
            ("/orders/{id}", "/reorders/{id}", false),
            ("/orders/{id}", "/api/orders/{id}/lines", false),
            ("/{*rest}", "/api/orders/{id}", false),
            ("/", "/api/", false),
            ("/", "/api", false),
        ] {
            assert_eq!(pattern(rule).covers_end_of(route), is_end, "{rule} {route}");
        }
    }

    #[test]
    fn a_route_that_is_nearly_the_rules_is_told_from_another() {
        for (rule, route, is_near) in [
            ("/orders/{id}", "/orders/{order_id}", true),
            ("/orders/{id}", "/orders/{id}/", true),
            ("/orders/{id}/", "/orders/{id}", true),
            ("/orders/{id}", "/Orders/{ID}/", true),
            ("/v{major}/x", "/V{minor}/x", true),
            ("/a/{id}/{*rest}", "/a/{order}/lines/{line}", true),
            ("/A/{*rest}", "/a/{*path}", true),
            ("/orders/{id}", "/orders/{id}", false),
            ("/orders/{*rest}", "/orders/{id}", false),
            ("/orders/{*rest}", "/orders/", false),
            ("/orders/{id}", "/orders/latest", false),
            ("/orders/{id}", "/orders/{*rest}", false),
            ("/orders/{id}", "/orders/{id}/lines", false),
            ("/orders/{id}/lines", "/orders/{id}", false),
            ("/v{major}", "/w{major}", false),
            ("/{{a}}", "/{a}", false),
            ("/orders", "/order", false),
            ("/", "/", false),
        ] {
            assert_eq!(pattern(rule).nearly_covers(route), is_near, "{rule} {route}");
        }
    }

    #[test]
    fn a_requests_path_gives_the_parameters() {
        for (rule, path, expected) in [
            ("/orders/{id}", "/orders/7", Some("id=7")),
            ("/orders/{id}", "/orders/a%2Fb", Some("id=a/b")),
            ("/orders/{id}", "/orders/", None),
            ("/orders/{id}", "/orders/7/", None),
            ("/orders/{id}", "/order/7", None),
            ("/f/v{major}/{name}", "/f/v2/x", Some("major=2 name=x")),
            ("/f/v{major}/{name}", "/f/2/x", None),
            ("/files/{*path}", "/files/a/b", Some("path=a/b")),
            ("/files/{*path}", "/files/", None),
            ("/{*path}", "/a/b", Some("path=a/b")),
            ("/{{a}}", "/{a}", Some("")),
            ("/", "/", Some("")),
            ("/", "/a", None),
        ] {
            let captured = pattern(rule).captures(path).map(|captured| {
                let pairs = captured.iter().map(|(name, value)| format!("{name}={value}"));
                pairs.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(captured.as_deref(), expected, "{rule} {path}");
        }
    }
}
