//! The same for programs.

use lock_tests::figures::Spread;
use serde_json::{Map, Value, json};

use super::{Curve, Goal, Ratio, Report, Table};

impl Report {
    /// `about`: what was measured where.
    pub(crate) fn json(&self, about: &Value) -> Value {
        json!({
            "about": about,
            "ratios": self.ratios_by_name(),
            "tables": self.tables.iter().map(Table::json).collect::<Vec<_>>(),
            "curves": self.curves.iter().map(Curve::json).collect::<Vec<_>>(),
        })
    }

    /// Under each name its first part, and all of them under `parts`; `met` is of all.
    fn ratios_by_name(&self) -> Map<String, Value> {
        let mut ratios = Map::new();
        for ratio in &self.ratios {
            if ratios.contains_key(ratio.name) {
                continue;
            }
            let of_name = self.ratios.iter().filter(|other| other.name == ratio.name);
            let parts: Vec<&Ratio> = of_name.collect();
            let mut value = ratio.json();
            let met = parts.iter().filter_map(|part| part.is_met()).all(|met| met);
            value["met"] = json!(met);
            let by_part = parts.iter().map(|part| (part.part.clone(), part.json()));
            value["parts"] = Value::Object(by_part.collect());
            ratios.insert(ratio.name.to_owned(), value);
        }
        ratios
    }
}

impl Ratio {
    fn json(&self) -> Value {
        let mut value = spread(self.spread);
        value["goal"] = match self.goal {
            Goal::Reported => Value::Null,
            goal => json!(goal.to_string()),
        };
        value["met"] = json!(self.is_met());
        value
    }
}

impl Table {
    fn json(&self) -> Value {
        json!({ "title": self.title, "note": self.note, "columns": self.columns, "rows": self.rows })
    }
}

impl Curve {
    fn json(&self) -> Value {
        let line = |line: &super::Line| {
            let points = line.points.iter().map(|(x, y)| {
                let mut point = spread(*y);
                point["x"] = json!(x);
                point
            });
            json!({ "title": line.title, "points": points.collect::<Vec<_>>() })
        };
        let lines: Vec<Value> = self.lines.iter().map(line).collect();
        json!({ "name": self.name, "title": self.title, "x": self.x, "y": self.y, "lines": lines })
    }
}

fn spread(spread: Spread) -> Value {
    json!({ "value": spread.median, "min": spread.min, "max": spread.max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_name_are_met_together() {
        let mut report = Report::default();
        let spread = Spread { median: 1.0, min: 0.5, max: 2.0 };
        report.ratio("two", "first", spread, Goal::AtLeast(0.9));
        report.ratio("two", "second", spread, Goal::AtMost(0.9));
        report.ratio("two", "third", spread, Goal::Reported);
        let two = &report.json(&Value::Null)["ratios"]["two"];
        assert_eq!(two["goal"], ">= 0.9");
        assert_eq!(two["met"], false);
        assert_eq!(two["parts"]["first"]["met"], true);
        assert_eq!(two["parts"]["third"]["met"], Value::Null);
    }
}
