//! Curves as SVG: both axes by powers of ten, so that what is flat looks flat and what grows as
//! fast as its cause is a diagonal.

use std::{error::Error, path::Path};

use plotters::prelude::*;

use crate::report::Curve;

const SIZE: (u32, u32) = (640, 400);
const COLOURS: [RGBColor; 3] =
    [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(44, 160, 44)];
/// Zero has no place on such an axis.
const LEAST: f64 = 0.1;

/// One file for each.
pub(crate) fn draw(curves: &[Curve], directory: &Path) {
    std::fs::create_dir_all(directory).expect("a directory that can be made");
    for curve in curves {
        let path = directory.join(format!("{}.svg", curve.name));
        if let Err(error) = curve.draw(&path) {
            panic!("cannot draw {}: {error}", path.display());
        }
    }
}

impl Curve {
    fn draw(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let (mut right, mut top) = (1.0, 1.0);
        for (x, y) in points {
            (right, top) = (f64::max(right, *x), f64::max(top, y.max));
        }
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 16))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((LEAST..right * 1.5).log_scale(), (LEAST..top * 2.0).log_scale())?;
        chart.configure_mesh().x_desc(self.x).y_desc(self.y).light_line_style(WHITE).draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let points = line.points.iter().map(|(x, y)| (x.max(LEAST), y.median.max(LEAST)));
            let drawn =
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?;
            drawn
                .label(line.title)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
        }
        chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
        root.present()?;
        Ok(())
    }
}
