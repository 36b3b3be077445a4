use super::*;
use crate::event::{LockMode, RegionId};
use crate::trace::{Sink, std_format};
use std::collections::BTreeMap;

fn events(plan: Plan) -> Vec<Event> {
    let mut generator = Generator::new(plan).unwrap();
    let mut batch = Batch::new();
    let mut events = Vec::new();
    loop {
        let more = generator.fill(&mut batch).unwrap();
        for (position, event) in batch.iter() {
            events.push(*event);
            assert_eq!(position, events.len() as u64);
        }
        if !more {
            return events;
        }
    }
}

/// A plan with much contention in a trace small enough for the oracle.
fn small(family: Family, seed: u64) -> Plan {
    let threads = 2 + (seed % 4) as u32;
    Plan {
        events: 300,
        threads,
        locks: 2 + (seed % 3) as u32,
        variables: 4 * threads + (seed % 5) as u32,
        region_length: if family == Family::Mutual { 40 } else { 1 + (seed % 6) as u32 },
        seed,
        ..Plan::new(family)
    }
}

/// The bytes that an operation touches, and whether it writes.
fn memory(op: &Op) -> Option<(u64, u64, bool)> {
    match *op {
        Op::Access { kind, size, addr } => {
            Some((addr.0, addr.0 + u64::from(size), kind == AccessKind::Write))
        }
        Op::Atomic { kind, size, addr, .. } => {
            Some((addr.0, addr.0 + u64::from(size), kind.access_kind() == AccessKind::Write))
        }
        _ => None,
    }
}

fn conflict(a: &Event, b: &Event) -> bool {
    let lock = |op: &Op| match *op {
        Op::Acquire { lock, .. } | Op::Release { lock, .. } => Some(lock),
        _ => None,
    };
    let memory_conflict = match (memory(&a.op), memory(&b.op)) {
        (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1 && (a.2 || b.2),
        _ => false,
    };
    let forked = matches!(a.op, Op::Fork { child } if child == b.thread);
    let joined = matches!(b.op, Op::Join { child } if child == a.thread);
    a.thread == b.thread
        || memory_conflict
        || (lock(&a.op).is_some() && lock(&a.op) == lock(&b.op))
        || forked
        || joined
}

/// Whether the transactions can be put into a serial order, by the definition.
fn serializable(events: &[Event]) -> bool {
    let mut transactions = Vec::new();
    let mut count = 0;
    let mut open: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for event in events {
        let inside = open.entry(event.thread.0).or_default();
        if inside.1 == 0 {
            inside.0 = count;
            count += 1;
        }
        match event.op {
            Op::Begin { .. } => inside.1 += 1,
            Op::End => inside.1 -= 1,
            _ => {}
        }
        transactions.push(inside.0);
    }
    let mut successors = vec![Vec::new(); count];
    let mut predecessors = vec![0; count];
    for (second, b) in events.iter().enumerate() {
        for (first, a) in events[..second].iter().enumerate() {
            let (from, to) = (transactions[first], transactions[second]);
            if from != to && conflict(a, b) {
                successors[from].push(to);
                predecessors[to] += 1;
            }
        }
    }
    let mut ready: Vec<usize> = (0..count).filter(|node| predecessors[*node] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for &next in &successors[node] {
            predecessors[next] -= 1;
            if predecessors[next] == 0 {
                ready.push(next);
            }
        }
    }
    done == count
}

/// Checks that a program can have done this.
fn assert_well_formed(events: &[Event], plan: &Plan) {
    let mut started = vec![false; plan.threads as usize];
    let mut joined = vec![false; plan.threads as usize];
    let mut depth = vec![0_u32; plan.threads as usize];
    // For each lock and thread, how often it is held in which mode.
    let mut held: BTreeMap<(u32, u32), (LockMode, u32)> = BTreeMap::new();
    started[0] = true;
    for event in events {
        let thread = event.thread.index();
        assert!(started[thread] && !joined[thread], "{event:?}");
        match event.op {
            Op::Fork { child } => {
                assert!(!started[child.index()]);
                started[child.index()] = true;
            }
            Op::Join { child } => {
                assert!(started[child.index()] && depth[child.index()] == 0);
                joined[child.index()] = true;
            }
            Op::Begin { region } => {
                assert!(region.0 < 2 * LABELS);
                depth[thread] += 1;
            }
            Op::End => depth[thread] = depth[thread].checked_sub(1).expect("an open region"),
            Op::Acquire { lock, mode } => {
                let others =
                    held.range((lock.0, 0)..=(lock.0, u32::MAX)).filter(|(key, _)| key.1 != event.thread.0);
                for (_, (other, _)) in others {
                    assert!(mode == LockMode::Shared && *other == LockMode::Shared, "{event:?}");
                }
                assert!(lock.0 < plan.locks);
                held.entry((lock.0, event.thread.0)).or_insert((mode, 0)).1 += 1;
            }
            Op::Release { lock, mode } => {
                let key = (lock.0, event.thread.0);
                let hold = held.get_mut(&key).expect("a held lock");
                assert_eq!(hold.0, mode);
                hold.1 -= 1;
                if hold.1 == 0 {
                    held.remove(&key);
                }
            }
            op => {
                if let Some((first, end, _)) = memory(&op) {
                    assert!(first >= VARIABLE_BASE && end <= address(plan.variables).0);
                }
            }
        }
    }
    assert!(held.is_empty());
    assert!(started.iter().all(|started| *started));
    if plan.family == Family::OpenTransaction {
        assert!(depth[0] == 1 && depth[1..].iter().all(|depth| *depth == 0));
    } else {
        assert!(depth.iter().all(|depth| *depth == 0));
        assert!(joined[1..].iter().all(|joined| *joined));
    }
}

#[test]
fn without_violations_every_trace_is_serializable() {
    for family in Family::THREADS {
        for seed in 0..60 {
            let plan = small(family, seed);
            let events = events(plan.clone());
            assert_well_formed(&events, &plan);
            assert!(events.len() >= 300 && events.len() < 700, "{family}: {}", events.len());
            assert!(serializable(&events), "{family}, seed {seed}");
        }
    }
}

#[test]
fn with_violations_regions_are_torn() {
    for family in Family::THREADS {
        for seed in 0..60 {
            let mut plan = Plan { violations: 0.8, ..small(family, seed) };
            plan.threads = plan.threads.max(3);
            plan.variables = 4 * plan.threads;
            plan.region_length = plan.region_length.min(8);
            let events = events(plan.clone());
            assert_well_formed(&events, &plan);
            assert!(!serializable(&events), "{family}, seed {seed}");
        }
    }
}

#[test]
fn about_the_wanted_share_is_torn() {
    for family in Family::THREADS {
        let plan = Plan { events: 200_000, violations: 0.1, region_length: 8, ..Plan::new(family) };
        let events = events(plan.clone());
        let outermost = events.iter().filter_map(|event| match event.op {
            Op::Begin { region } => Some(region),
            _ => None,
        });
        let (torn, whole): (Vec<RegionId>, Vec<RegionId>) = outermost.partition(|region| region.0 >= LABELS);
        let share = torn.len() as f64 / (torn.len() + whole.len()) as f64;
        assert!((0.06..0.14).contains(&share), "{family}: {share}");
    }
}

#[test]
fn defaults_make_sense() {
    for family in Family::ALL {
        assert_eq!(family.name().parse(), Ok(family));
        assert_ne!(family.has_tasks(), Family::THREADS.contains(&family));
    }
    for family in Family::THREADS {
        let plan = Plan { events: 50_000, ..Plan::new(family) };
        let events = events(plan.clone());
        assert_well_formed(&events, &plan);
        let slack = 4 * u64::from(plan.threads * plan.region_length.min(1000)) + 1000;
        assert!(
            events.len() as u64 >= plan.events && (events.len() as u64) < plan.events + slack,
            "{family}"
        );
    }
    assert!("other".parse::<Family>().is_err());
}

#[test]
fn a_seed_gives_one_trace() {
    let mut texts = Vec::new();
    for (family, seed) in
        Family::THREADS.into_iter().flat_map(|family| [(family, 1), (family, 1), (family, 2)])
    {
        let plan = Plan { events: 2000, seed, violations: 0.1, ..Plan::new(family) };
        let mut generator = Generator::new(plan).unwrap();
        let mut writer = std_format::Writer::new(Vec::new());
        let mut batch = Batch::new();
        while generator.fill(&mut batch).unwrap() {
            writer.write(&batch, generator.tables()).unwrap();
        }
        writer.write(&batch, generator.tables()).unwrap();
        writer.finish(generator.tables()).unwrap();
        texts.push(writer.into_inner());
    }
    for of_family in texts.chunks(3) {
        assert_eq!(of_family[0], of_family[1]);
        assert_ne!(of_family[0], of_family[2]);
    }
    // Pinned: measurements of different versions are only comparable if the traces stay the same.
    let checksums: Vec<u32> = texts.iter().step_by(3).map(|text| crc32fast::hash(text)).collect();
    assert_eq!(checksums, [1555814786, 797506099, 3234291191, 2403414906, 4271075458, 1448862163]);
}

#[test]
fn plans_are_checked() {
    let bad = [
        Plan { threads: 0, ..Plan::new(Family::Mixed) },
        Plan { locks: 0, ..Plan::new(Family::FewThreads) },
        Plan { locks: 1, ..Plan::new(Family::OpenTransaction) },
        Plan { variables: 0, ..Plan::new(Family::Unlocked) },
        Plan { region_length: 0, ..Plan::new(Family::Unlocked) },
        Plan { region_length: u32::MAX, ..Plan::new(Family::Unlocked) },
        Plan { violations: f64::NAN, ..Plan::new(Family::Unlocked) },
        Plan { violations: 1.5, ..Plan::new(Family::Unlocked) },
    ];
    for plan in bad {
        assert!(Generator::new(plan.clone()).is_err(), "{plan:?}");
    }
    for family in Family::THREADS {
        for threads in [1, 2, 3] {
            let plan = Plan {
                events: 500,
                threads,
                locks: 2,
                variables: 4 * threads,
                region_length: 1,
                violations: 1.0,
                ..Plan::new(family)
            };
            assert_well_formed(&events(plan.clone()), &plan);
            let plan = Plan { events: 0, ..plan };
            assert_well_formed(&events(plan.clone()), &plan);
        }
    }
}
