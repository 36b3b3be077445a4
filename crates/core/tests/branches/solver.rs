//! The solver against `z3`, on random questions.

use crate::random::Random;
use keirin_core::diagnose::problem::{Condition, Operand, Read, Section, Source, Value};
use keirin_core::diagnose::smtlib::Reply;
use keirin_core::diagnose::solver::Limits;
use keirin_core::diagnose::{Decision, Formula, Problem};
use std::io::Write;
use std::process::{Command, Stdio};
use std::rc::Rc;

fn formula(text: &str) -> Rc<Formula> {
    Rc::new(Formula::parse(text).expect("a formula"))
}

/// What one event of a task does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Acquire(usize),
    Release(usize),
    Write(usize),
    Read(usize),
}

/// A random question: tasks that read and write variables under locks, and conditions on what they read. What a task does in its
/// last part may happen or not.
fn question(random: &mut Random) -> Problem {
    let mut problem = Problem::new();
    let count = random.between(2, 4);
    let mut tasks: Vec<Vec<(u32, Does)>> = Vec::new();
    for _ in 0..count {
        let mut task: Vec<(u32, Does)> = Vec::new();
        let mut held: Vec<usize> = Vec::new();
        for _ in 0..random.between(3, 8) {
            let does = match random.below(6) {
                0 if held.len() < 2 => {
                    let lock = (0..2).find(|lock| !held.contains(lock)).unwrap_or(0);
                    let lock = if held.is_empty() && random.percent(40) { 1 - lock } else { lock };
                    held.push(lock);
                    Does::Acquire(lock)
                }
                1 if !held.is_empty() => Does::Release(held.remove(random.below(held.len()))),
                2..4 => Does::Write(random.below(2)),
                _ => Does::Read(random.below(2)),
            };
            task.push((problem.event(), does));
        }
        tasks.push(task);
    }
    let mut needed: Vec<usize> = Vec::new();
    for task in &tasks {
        for pair in task.windows(2) {
            problem.edge(pair[0].0, pair[1].0);
        }
        let count = if random.percent(60) { task.len() } else { random.between(1, task.len()) };
        problem.edge(task[count - 1].0, Problem::END);
        needed.push(count);
    }
    // Now and then something of one task comes before something of another.
    if random.percent(30) {
        let (one, other) = (random.below(count), random.below(count));
        if one < other {
            problem.edge(tasks[one][0].0, tasks[other][tasks[other].len() - 1].0);
        }
    }
    for lock in 0..2 {
        let mut sections = Vec::new();
        for (owner, task) in tasks.iter().enumerate() {
            let mut open: Option<Section> = None;
            for (at, (event, does)) in task.iter().enumerate() {
                if *does == Does::Acquire(lock) {
                    let happens = (at >= needed[owner]).then(|| problem.before(*event, Problem::END));
                    open = Some(Section {
                        acquire: *event,
                        release: None,
                        shared: random.percent(15),
                        owner: owner as u32,
                        happens,
                        reads: random.percent(50),
                    });
                }
                if *does == Does::Release(lock)
                    && let Some(mut section) = open.take()
                {
                    section.release = Some(*event);
                    sections.push(section);
                }
            }
            sections.extend(open);
        }
        problem.lock(sections);
    }
    values(random, &mut problem, &tasks, &needed);
    problem
}

fn values(random: &mut Random, problem: &mut Problem, tasks: &[Vec<(u32, Does)>], needed: &[usize]) {
    // The number of each read, in the order in which they are told below.
    let mut numbers: Vec<(u32, usize, usize, usize)> = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        for (at, (event, does)) in task.iter().enumerate() {
            if let Does::Read(variable) = does {
                numbers.push((*event, number, at, *variable));
            }
        }
    }
    // What a write writes: a number, or one more than what its task has read last.
    let mut written: Vec<(u32, usize, Value)> = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        for (at, (event, does)) in task.iter().enumerate() {
            let Does::Write(variable) = does else { continue };
            let before = numbers.iter().rposition(|read| read.1 == number && read.2 < at);
            let value = match before {
                Some(read) if random.percent(30) => {
                    Value::Computed(formula("add8 $1 1"), vec![Operand::Read(read as u32)], 0xff)
                }
                _ => Value::Known(random.below(3) as u64),
            };
            written.push((*event, *variable, value));
        }
    }
    for (event, task, at, variable) in &numbers {
        let mut sources = vec![Source {
            chosen: problem.choice(false, None, None),
            write: None,
            until: None,
            value: Value::Known(0),
        }];
        let mut writes = Vec::new();
        for (write, _, value) in written.iter().filter(|(_, other, _)| other == variable) {
            let chosen = problem.choice(random.percent(50), None, None);
            sources.push(Source { chosen, write: Some(*write), until: None, value: value.clone() });
            writes.push(*write);
        }
        let happens = (*at >= needed[*task]).then(|| problem.before(*event, Problem::END));
        problem.read(Read { event: *event, sources, writes }, happens);
    }
    for (number, (event, task, at, _)) in numbers.iter().enumerate() {
        if random.percent(50) {
            let if_all: Vec<_> =
                (*at >= needed[*task]).then(|| problem.before(*event, Problem::END)).into_iter().collect();
            let text = ["eq $1 0", "eq $1 1", "ugt $1 1", "ult8 (sub8 $1 1) 2", "slt8 (add8 $1 126) 0"];
            problem.condition(Condition {
                if_all,
                formula: formula(random.pick(&text)),
                operands: vec![Operand::Read(number as u32)],
                wanted: random.percent(60),
            });
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn agrees_with_z3() {
    let count = 400;
    let mut random = Random::new(9);
    let questions: Vec<Problem> = (0..count).map(|_| question(&mut random)).collect();
    let mut child = Command::new("z3")
        .args(["-in", "-T:300"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("z3 is needed for this test: install Debian's package z3, as ./test does");
    let mut input = child.stdin.take().expect("a pipe");
    let text: String = questions
        .iter()
        .map(|question| format!("{}(echo \"next\")\n(reset)\n", question.smtlib(true)))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("an answer");
    writer.join().expect("no panic").expect("all was read");
    let output = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<&str> = output.split("next\n").collect();
    assert_eq!(answers.len(), count + 1, "{}", &output[..output.len().min(2000)]);
    let (mut feasible, mut infeasible) = (0, 0);
    for (question, answer) in questions.iter().zip(answers) {
        let (mine, _) = question.decide(Limits { work: u64::MAX / 2, until: None });
        match (mine, question.understand(answer)) {
            (Decision::Feasible(_), Reply::Satisfiable(_)) => feasible += 1,
            (Decision::Infeasible, Reply::Unsatisfiable) => infeasible += 1,
            (mine, theirs) => panic!("{mine:?}, but z3 says {theirs:?}:\n{}", question.smtlib(true)),
        }
    }
    println!("agreed with z3 on {feasible} feasible and {infeasible} infeasible questions");
    assert!(feasible > count / 8 && infeasible > count / 8, "{feasible} and {infeasible}");
}
