//! Charts as SVG: bars and curves.

use std::fmt::Write;

/// Fills of the bars, told apart in print and by readers who do not see all colours.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];
const LEFT: f64 = 150.0;
const WIDTH: f64 = 640.0;
const BAR: f64 = 7.0;
const GAP: f64 = 6.0;
/// Height of a field of curves.
const CURVES: f64 = 300.0;
/// Height of the title, of a line of the legend and of the scale.
const LINE: f64 = 18.0;

/// One colour of bars: a name, and a figure for each group.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The figures.
    pub figures: Vec<f64>,
}

/// A scale: how long a bar is, which figures are marked, and what stands behind a figure.
struct Scale {
    length: Box<dyn Fn(f64) -> f64>,
    marks: Vec<f64>,
    unit: &'static str,
}

/// A chart with lying bars, in groups, of ratios on a logarithmic scale from a half on.
pub fn bars(title: &str, groups: &[String], series: &[Series]) -> String {
    let most = largest(series).max(2.0);
    let length = move |figure: f64| (figure.max(0.5) * 2.0).ln() / (most * 2.0).ln() * WIDTH;
    chart(title, groups, series, &Scale { length: Box::new(length), marks: marks(most), unit: " ×" })
}

/// A chart with lying bars, in groups, of amounts from nothing on.
pub fn amounts(title: &str, unit: &'static str, groups: &[String], series: &[Series]) -> String {
    let most = largest(series).max(1e-9);
    let step = even_step(most);
    let length = move |figure: f64| figure.max(0.0) / most * WIDTH;
    let marks = (0..).map(|number| f64::from(number) * step).take_while(|&mark| mark <= most).collect();
    chart(title, groups, series, &Scale { length: Box::new(length), marks, unit })
}

fn largest(series: &[Series]) -> f64 {
    series.iter().flat_map(|series| &series.figures).copied().fold(0.0, f64::max)
}

/// A round step of which some five make the whole.
fn even_step(most: f64) -> f64 {
    let ten = 10f64.powf((most / 5.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * ten)
        .into_iter()
        .find(|step| most / step <= 6.0)
        .unwrap_or(most)
}

/// The start of a picture: its size, its title, and a line for each series.
fn start(title: &str, height: f64, series: &[Series]) -> String {
    let width = LEFT + WIDTH + 60.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"14\" font-size=\"13\">{}</text>\n",
        escaped(title)
    );
    for (number, series) in series.iter().enumerate() {
        let y = LINE * (number + 1) as f64 + 4.0;
        let name = escaped(&series.name);
        let (x, base) = (LEFT + 16.0, y + 9.0);
        svg += &format!(
            "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n<text x=\"{x:.1}\" y=\"{base:.1}\">{name}</text>\n",
            colour(number)
        );
    }
    svg
}

fn chart(title: &str, groups: &[String], series: &[Series], scale: &Scale) -> String {
    let group = BAR * series.len() as f64 + GAP;
    let top = LINE * (series.len() + 2) as f64;
    let bottom = top + group * groups.len() as f64;
    let mut svg = start(title, bottom + 2.0 * LINE, series);
    let mut line = |text: std::fmt::Arguments<'_>| {
        // A string takes all that is written to it.
        let _ = svg.write_fmt(text);
        svg.push('\n');
    };
    for &mark in &scale.marks {
        let x = LEFT + (scale.length)(mark);
        line(format_args!(
            "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ccc\"/>"
        ));
        line(format_args!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}{}</text>",
            bottom + LINE,
            (mark * 1e6).round() / 1e6,
            scale.unit
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
                "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{}: {figure:.2}{}</title></rect>",
                y + BAR * bar as f64,
                (scale.length)(figure),
                colour(bar),
                escaped(&series.name),
                scale.unit,
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Curves over a count of something, one for each series: its first figure is that after one, the next after two.
pub fn curves(title: &str, counted: &str, series: &[Series]) -> String {
    let most = largest(series).max(1.0);
    let longest = series.iter().map(|series| series.figures.len()).max().unwrap_or(0).max(2);
    let top = LINE * (series.len() + 2) as f64;
    let bottom = top + CURVES;
    let mut svg = start(title, bottom + 2.5 * LINE, series);
    let x = |count: usize| LEFT + WIDTH * count.saturating_sub(1) as f64 / (longest - 1) as f64;
    let y = |figure: f64| bottom - CURVES * figure / most;
    let step = even_step(most);
    for mark in (0..).map(|number| f64::from(number) * step).take_while(|&mark| mark <= most) {
        let (y, right) = (y(mark), LEFT + WIDTH);
        svg += &format!(
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ccc\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>\n",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let every = even_step(longest as f64).max(1.0) as usize;
    for count in (1..=longest).filter(|count| *count == 1 || count.is_multiple_of(every)) {
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>\n",
            x(count),
            bottom + LINE
        );
    }
    svg += &format!("<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>\n", bottom + 2.0 * LINE, escaped(counted));
    for (number, series) in series.iter().enumerate() {
        let points =
            (1..).zip(&series.figures).map(|(count, &figure)| format!("{:.1},{:.1}", x(count), y(figure)));
        svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}><title>{}</title></polyline>\n",
            points.collect::<Vec<_>>().join(" "),
            colour(number),
            // There are more curves than colours.
            if number < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" },
            escaped(&series.name)
        );
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

    #[test]
    fn amounts_begin_with_nothing() {
        let series = [Series { name: "alarms".to_owned(), figures: vec![0.0, 2.0, 8.0] }];
        let svg = amounts("false alarms", " %", &["a".to_owned(), "b".to_owned(), "c".to_owned()], &series);
        assert!(
            svg.contains("width=\"0.0\" height=\"7\"") && svg.contains("width=\"160.0\" height=\"7\""),
            "{svg}"
        );
        assert!(svg.contains(">8 %</text>") && svg.contains("alarms: 8.00 %"), "{svg}");
        let none =
            amounts("nothing", "", &["a".to_owned()], &[Series { name: "x".to_owned(), figures: vec![0.0] }]);
        assert!(!none.contains("NaN") && !none.contains("inf"), "{none}");
    }

    #[test]
    fn a_curve_goes_through_all_figures() {
        let series = |figures: &[f64]| Series { name: "a < b".to_owned(), figures: figures.to_vec() };
        let svg = curves("regions", "runs", &[series(&[10.0, 20.0, 20.0]), series(&[5.0])]);
        assert!(svg.contains("points=\"150.0,222.0 470.0,72.0 790.0,72.0\""), "{svg}");
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN"), "{svg}");
        assert!(!curves("nothing", "runs", &[]).contains("NaN"));
    }
}
