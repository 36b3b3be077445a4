//! Bar charts as SVG.

use std::fmt::Write;

/// Fills of the bars, told apart in print and by readers who do not see all colours.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];
const LEFT: f64 = 150.0;
const WIDTH: f64 = 640.0;
const BAR: f64 = 7.0;
const GAP: f64 = 6.0;
/// Height of the title, of a line of the legend and of the scale.
const LINE: f64 = 18.0;

/// One colour of bars: a name, and a figure for each group.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) figures: Vec<f64>,
}

/// A chart with lying bars, in groups, of ratios on a logarithmic scale from a half on.
pub(crate) fn bars(title: &str, groups: &[String], series: &[Series]) -> String {
    let most = series.iter().flat_map(|series| &series.figures).copied().fold(2.0, f64::max);
    let scale = |figure: f64| (figure.max(0.5) * 2.0).ln() / (most * 2.0).ln() * WIDTH;
    let group = BAR * series.len() as f64 + GAP;
    let top = LINE * (series.len() + 2) as f64;
    let bottom = top + group * groups.len() as f64;
    let (width, height) = (LEFT + WIDTH + 60.0, bottom + 2.0 * LINE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"14\" font-size=\"13\">{}</text>\n",
        escaped(title)
    );
    let mut line = |text: std::fmt::Arguments<'_>| {
        // A string takes all that is written to it.
        let _ = svg.write_fmt(text);
        svg.push('\n');
    };
    for (number, series) in series.iter().enumerate() {
        let y = LINE * (number + 1) as f64 + 4.0;
        line(format_args!(
            "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/>",
            colour(number)
        ));
        let name = escaped(&series.name);
        line(format_args!("<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>", LEFT + 16.0, y + 9.0));
    }
    for mark in marks(most) {
        let x = LEFT + scale(mark);
        line(format_args!(
            "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ccc\"/>"
        ));
        line(format_args!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark} ×</text>",
            bottom + LINE
        ));
    }
    for (number, name) in groups.iter().enumerate() {
        let y = top + group * number as f64 + GAP / 2.0;
        let middle = y + (group - GAP) / 2.0 + 4.0;
        line(format_args!(
            "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            escaped(name)
        ));
        for (bar, series) in series.iter().enumerate() {
            let Some(&figure) = series.figures.get(number) else { continue };
            line(format_args!(
                "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{}: {figure:.2} ×</title></rect>",
                y + BAR * bar as f64,
                scale(figure),
                colour(bar),
                escaped(&series.name),
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

/// Round figures up to the largest.
fn marks(most: f64) -> Vec<f64> {
    let all = [0.5, 1.0, 2.0, 5.0].into_iter().chain((1..9).flat_map(|power| {
        let ten = 10f64.powi(power);
        [ten, 2.0 * ten, 5.0 * ten]
    }));
    all.take_while(|&mark| mark <= most).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_bar() {
        let groups = ["fib".to_owned(), "sort".to_owned()];
        let series =
            |name: &str, figures: [f64; 2]| Series { name: name.to_owned(), figures: figures.into() };
        let svg =
            bars("races & more", &groups, &[series("races", [2.0, 4.0]), series("<TSan>", [8.0, 16.0])]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("races &amp; more") && svg.contains("&lt;TSan&gt;: 16.00 ×"), "{svg}");
        assert_eq!(svg.matches("<title>").count(), 4, "{svg}");
        // The scale begins at a half: 16 is five doublings from there, and 2 two.
        assert!(
            svg.contains("width=\"640.0\" height=\"7\"") && svg.contains("width=\"256.0\" height=\"7\""),
            "{svg}"
        );
        assert_eq!(marks(16.0), [0.5, 1.0, 2.0, 5.0, 10.0]);
    }
}
