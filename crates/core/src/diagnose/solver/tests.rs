use super::*;

fn all(work: u64) -> Limits {
    Limits { work, until: None }
}

#[test]
fn restarts_follow_the_sequence() {
    let first: Vec<u64> = (1..=15).map(luby).collect();
    assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
}

#[test]
fn pigeons_do_not_fit() {
    let mut solver = Solver::default();
    let pigeons: Vec<Vec<Literal>> =
        (0..6).map(|_| (0..5).map(|_| solver.variable(true, None, None)).collect()).collect();
    pigeons.iter().for_each(|holes| solver.clause(holes.clone()));
    for hole in 0..5 {
        for (number, one) in pigeons.iter().enumerate() {
            for other in &pigeons[..number] {
                solver.clause(vec![!one[hole], !other[hole]]);
            }
        }
    }
    assert_eq!(solver.solve(all(u64::MAX)), Answer::Unsatisfiable);
    assert_eq!(solver.solve(all(u64::MAX)), Answer::Unsatisfiable);
}

#[test]
fn a_limit_is_kept() {
    let mut solver = Solver::default();
    let events: Vec<u32> = (0..40).map(|_| solver.event()).collect();
    let mut before = |a: usize, b: usize| {
        let (a, b) = (events[a % 40], events[(a + 1 + b % 39) % 40]);
        solver.variable(true, Some((a, b)), Some((b, a)))
    };
    let mut clauses = Vec::new();
    for a in 0..40 {
        for b in 0..a {
            clauses.push(vec![before(a, b), before(a + 7, b + 3), !before(b, a + b)]);
        }
    }
    clauses.into_iter().for_each(|clause| solver.clause(clause));
    assert_eq!(solver.solve(all(10)), Answer::GivenUp);
    let past = Limits { work: u64::MAX, until: Some(Instant::now()) };
    let started = Instant::now();
    let _ = solver.solve(past);
    assert!(started.elapsed().as_secs() < 5);
}
