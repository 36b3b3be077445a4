//! Programs that are run in several ways in turn, and the tables of what each way costs as a multiple of another.

use crate::child::{Cost, improve};
use crate::table::{Table, mebibytes, nothing, seconds};
use anyhow::Result;

/// The figures of one program, one for each way to run it.
pub(super) struct Measured {
    pub(super) program: String,
    pub(super) costs: Vec<Cost>,
}

impl Measured {
    /// Runs a program in all ways in turn, several times; the best of each counts.
    pub(super) fn interleaved(
        program: &str,
        rounds: u32,
        ways: usize,
        mut run: impl FnMut(usize) -> Result<Cost>,
    ) -> Result<Self> {
        let mut best: Vec<Option<Cost>> = vec![None; ways];
        for _ in 0..rounds {
            for (way, best) in best.iter_mut().enumerate() {
                improve(best, run(way)?);
            }
        }
        Ok(Self { program: program.to_owned(), costs: best.into_iter().flatten().collect() })
    }

    /// Processor time of a way as a multiple of another.
    pub(super) fn slowdown(&self, column: &Column) -> f64 {
        // The kernel tells times in steps; a run that took none of them took about one.
        let seconds = |way: usize| self.costs[way].processor.as_secs_f64().max(0.001);
        seconds(column.way) / seconds(column.alone)
    }

    /// Peak memory as a multiple of another.
    pub(super) fn growth(&self, column: &Column) -> f64 {
        self.costs[column.way].memory as f64 / self.costs[column.alone].memory.max(1) as f64
    }
}

/// A figure of a program: [`Measured::slowdown`] or [`Measured::growth`].
pub(super) type Ratio = fn(&Measured, &Column) -> f64;

/// A column of both tables: a way to run programs, and the one that it is compared with.
pub(super) struct Column {
    pub(super) title: String,
    pub(super) way: usize,
    pub(super) alone: usize,
}

/// The tables of time and of memory; the first way is the program alone.
pub(super) fn tables(programs: &str, columns: &[Column], measured: &[Measured]) -> [Table; 2] {
    let empty = |first: &str| {
        let titles = columns.iter().map(|column| column.title.as_str());
        Table::new(&[programs, first].into_iter().chain(titles).collect::<Vec<_>>())
    };
    let mut time = empty("alone, CPU s");
    let mut memory = empty("alone, peak MiB");
    for program in measured {
        let row = |first: String, figure: Ratio| {
            let ratios = columns.iter().map(|column| times(figure(program, column)));
            [program.program.clone(), first].into_iter().chain(ratios).collect()
        };
        let alone = &program.costs[0];
        time.row(row(seconds(alone.processor), Measured::slowdown));
        memory.row(row(mebibytes(alone.memory), Measured::growth));
    }
    let last = |figure: Ratio| {
        let means = columns.iter().map(|column| times(mean(measured, figure, column)));
        ["geometric mean".to_owned(), nothing()].into_iter().chain(means).collect()
    };
    time.row(last(Measured::slowdown));
    memory.row(last(Measured::growth));
    [time, memory]
}

/// A ratio as it is written.
pub(super) fn times(factor: f64) -> String {
    format!("{factor:.2} ×")
}

/// The geometric mean of a ratio over all programs.
pub(super) fn mean(measured: &[Measured], figure: Ratio, column: &Column) -> f64 {
    let sum: f64 = measured.iter().map(|program| figure(program, column).ln()).sum();
    (sum / measured.len().max(1) as f64).exp()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::Duration;

    /// A program that took so many milliseconds in each way, and as many mebibytes.
    pub(in crate::runtime) fn measured(milliseconds: &[u64]) -> Measured {
        let cost = |&milliseconds: &u64| Cost {
            processor: Duration::from_millis(milliseconds),
            memory: milliseconds << 20,
            output: String::new(),
            messages: String::new(),
        };
        Measured { program: "kernel".to_owned(), costs: milliseconds.iter().map(cost).collect() }
    }

    #[test]
    fn ratios_are_to_the_way_told() {
        let one = measured(&[100, 500, 10, 40]);
        let columns = [(1, 0), (3, 2)].map(|(way, alone)| Column { title: format!("way {way}"), way, alone });
        assert_eq!(columns.each_ref().map(|column| one.slowdown(column).round()), [5.0, 4.0]);
        let four = measured(&[100, 2000, 10, 40]);
        let both = [one, four];
        assert_eq!(mean(&both, Measured::slowdown, &columns[0]).round(), 10.0);
        let [time, memory] = tables("kernel", &columns, &both).map(|table| table.to_string());
        assert!(time.contains("| kernel | alone, CPU s | way 1 | way 3 |"), "{time}");
        assert!(time.contains("| kernel | 0.10 | 5.00 × | 4.00 × |"), "{time}");
        assert!(memory.contains("| kernel | 100.0 | 20.00 × | 4.00 × |"), "{memory}");
        assert!(time.ends_with("| geometric mean | – | 10.00 × | 4.00 × |\n"), "{time}");
    }

    #[test]
    fn ways_take_turns() {
        let mut turns = Vec::new();
        let run = |way: usize| {
            turns.push(way);
            Ok(measured(&[7]).costs.remove(0))
        };
        let measured = Measured::interleaved("kernel", 2, 3, run).expect("all runs work");
        assert_eq!((measured.costs.len(), turns), (3, vec![0, 1, 2, 0, 1, 2]));
    }
}
