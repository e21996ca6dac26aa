//! Bars, as a picture that reads well on a light page and on a dark one.

use std::fmt::Write as _;

/// One bar.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) ours: bool,
}

const WIDTH: f64 = 760.0;
const ROW: f64 = 30.0;
const TOP: f64 = 44.0;
/// Where bars begin, to the right of their names.
const LEFT: f64 = 230.0;
/// Room for the figure after the longest bar.
const RIGHT: f64 = 90.0;

const STYLE: &str = "\
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px }
  .name { text-anchor: end }
  rect { fill: #8c959f }
  .ours { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    rect { fill: #6e7681 }
    .ours { fill: #4493f8 }
  }
";

/// The picture, as SVG.
pub(crate) fn draw(title: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| bar.value).fold(1.0, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
    let height = TOP + ROW * bars.len() as f64 + 10.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>\n{STYLE}</style>\n<text class=\"title\" x=\"10\" y=\"24\">{title}</text>\n"
    );
    let mut top = TOP;
    for Bar { name, value, ours } in bars {
        let width = (WIDTH - LEFT - RIGHT) * value / longest;
        let class = if *ours { " class=\"ours\"" } else { "" };
        let (middle, after) = (top + 16.0, LEFT + width + 8.0);
        let (left, bar) = (LEFT - 10.0, ROW - 8.0);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<text class=\"name\" x=\"{left}\" y=\"{middle}\">{name}</text>\
             <rect{class} x=\"{LEFT}\" y=\"{top}\" width=\"{width:.1}\" height=\"{bar}\" rx=\"3\"/>\
             <text x=\"{after:.1}\" y=\"{middle}\">{value:.0}</text>"
        );
        top += ROW;
    }
    out.push_str("</svg>\n");
    out
}
