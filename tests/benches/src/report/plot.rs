//! Curves as SVG. Both axes are by powers of ten: a cost that grows as fast as its cause is a diagonal.

use std::{error::Error, fs, path::Path};

use lock_tests::figures::Spread;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Curve, Line, Report, plain};

const SIZE: (u32, u32) = (720, 400);
const COLOURS: [RGBColor; 3] = [RGBColor(9, 105, 218), RGBColor(188, 76, 0), RGBColor(26, 127, 55)];
const GRID: RGBColor = RGBColor(208, 215, 222);
/// At the right, for the names of the lines.
const NAMES: u32 = 170;
/// Between the names of two lines.
const LINE_HEIGHT: i32 = 16;
/// The colours on a dark page. A rule of a style has precedence over the colour of an element.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) {
[fill=\"#FFFFFF\"] { fill: #0d1117 } [fill=\"#000000\"] { fill: #e6edf3 }
[stroke=\"#000000\"] { stroke: #e6edf3 } [stroke=\"#D0D7DE\"] { stroke: #30363d }
[fill=\"#0969DA\"] { fill: #58a6ff } [stroke=\"#0969DA\"] { stroke: #58a6ff }
[fill=\"#BC4C00\"] { fill: #f0883e } [stroke=\"#BC4C00\"] { stroke: #f0883e }
[fill=\"#1A7F37\"] { fill: #3fb950 } [stroke=\"#1A7F37\"] { stroke: #3fb950 }
}</style>
";

impl Report {
    /// Draws each curve into a file of this directory.
    pub(super) fn draw(&self, directory: &Path) {
        fs::create_dir_all(directory).expect("a directory that can be made");
        for curve in &self.curves {
            let path = directory.join(format!("{}.svg", curve.name));
            let svg = curve.svg().unwrap_or_else(|error| panic!("cannot draw: {error}"));
            fs::write(path, svg).expect("a file that can be written");
        }
    }
}

impl Curve {
    fn svg(&self) -> Result<String, Box<dyn Error>> {
        let mut svg = String::new();
        self.draw(&SVGBackend::with_string(&mut svg, SIZE).into_drawing_area())?;
        let (begin, rest) = svg.split_once('\n').ok_or("no first line")?;
        Ok(format!("{begin}\n{DARK}{rest}"))
    }

    fn draw(&self, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
        root.fill(&WHITE)?;
        let (xs, ys) = (self.axis(|(x, _)| *x), self.axis(|(_, y)| y.median));
        let ends = |values: &[f64]| values.first().copied().zip(values.last().copied());
        let (left, right) = ends(&xs).ok_or("no points")?;
        let (lowest, highest) = ends(&ys).ok_or("no points")?;
        let (bottom, top) = (lowest / 1.5, highest * 1.5);
        let mut chart = ChartBuilder::on(root)
            .caption(self.title, ("sans-serif", 17))
            .margin(12)
            .margin_right(NAMES)
            .x_label_area_size(42)
            .y_label_area_size(84)
            .build_cartesian_2d(
                (left..right).log_scale().with_key_points(xs),
                (bottom..top).log_scale().with_key_points(steps(bottom, top)),
            )?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .bold_line_style(GRID)
            .light_line_style(GRID)
            .label_style(("sans-serif", 13))
            .draw()?;
        let mut names = Vec::new();
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let points: Vec<_> = line.points.iter().map(|(x, y)| (*x, y.median)).collect();
            names.extend(points.last().map(|end| (chart.backend_coord(end), line.name(), colour)));
            let series = LineSeries::new(points, colour.stroke_width(2)).point_size(3);
            chart.draw_series(series)?;
        }
        names.sort_by_key(|((_, y), ..)| *y);
        let mut free = i32::MIN;
        for ((x, y), name, colour) in names {
            let y = y.max(free);
            free = y + LINE_HEIGHT;
            let centred = Pos::new(HPos::Left, VPos::Center);
            let style = ("sans-serif", 13).into_font().color(colour).pos(centred);
            root.draw(&Text::new(name, (x + 8, y), style))?;
        }
        root.present()?;
        Ok(())
    }

    /// The different values of all points, ascending.
    fn axis(&self, value: impl Fn(&(f64, Spread)) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.lines.iter().flat_map(|line| &line.points).map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

impl Line {
    /// The title up to its first comma or colon.
    fn name(&self) -> &'static str {
        let name = self.title.split([',', ':']).next();
        name.unwrap_or_default().trim_matches('*')
    }
}

/// 1, 2, 5, 10, 20 and so on, as far as they are in the range.
fn steps(bottom: f64, top: f64) -> Vec<f64> {
    let powers = (-3..10).map(|power| 10_f64.powi(power));
    let steps = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power));
    steps.filter(|step| (bottom..=top).contains(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_each_line_by_its_name_and_is_dark_on_a_dark_page() {
        let points = |y: f64| vec![(1.0, Spread::of([y])), (100.0, Spread::of([2.0 * y]))];
        let curve = Curve {
            name: "test",
            title: "Title",
            x: "tasks",
            y: "us",
            lines: vec![
                Line { title: "**lock-tower, lock**", points: points(1_000.0) },
                Line { title: "granted by hand: no lease", points: points(300.0) },
            ],
        };
        let svg = curve.svg().expect("a plot");
        for text in ["\nlock-tower\n", "\ngranted by hand\n", "\nTitle\n", "\n1,000\n", "\n100\n"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // Each colour has another one there, and there is no other colour.
        for colour in svg.split("=\"#").skip(1).filter_map(|rest| rest.get(..6)) {
            assert!(DARK.contains(colour), "{colour}");
        }
    }

    #[test]
    fn axes_have_round_steps() {
        assert_eq!(steps(0.9, 11.0), [1.0, 2.0, 5.0, 10.0]);
    }
}
