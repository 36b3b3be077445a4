//! Several analyses of tasks at once.

use super::plain::{KeepsPlain, Plain};
use super::{OpenRegions, Present, TaskAnalysis};
use crate::analysis::{Part, Statistic};
use crate::event::{Addr, GroupId};
use crate::finding::{Findings, RawStep};
use crate::sptree::{Relations, StepId};
use crate::tasks::Actor;

/// Two analyses, each with its own cell. If both keep plain accesses, so does this.
#[derive(Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: TaskAnalysis, B: TaskAnalysis> TaskAnalysis for Both<A, B> {
    const RECORDS: bool = A::RECORDS || B::RECORDS;
    const ONLY_RACES: bool = A::ONLY_RACES && B::ONLY_RACES;

    type Cell = (A::Cell, B::Cell);

    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        let first = self.0.access(now, &mut cell.0, part, findings);
        self.1.access(now, &mut cell.1, part, findings) && first
    }

    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        self.0.group(group, addr, size);
        self.1.group(group, addr, size);
    }

    fn operation(&self, at: &RawStep, actor: Actor) {
        self.0.operation(at, actor);
        self.1.operation(at, actor);
    }

    fn serial(&self, findings: &mut Findings) {
        self.0.serial(findings);
        self.1.serial(findings);
    }

    fn end_of_run(&self, findings: &mut Findings) {
        self.0.end_of_run(findings);
        self.1.end_of_run(findings);
    }

    fn visit_steps(cell: &mut Self::Cell, visit: &mut impl FnMut(&mut StepId)) {
        A::visit_steps(&mut cell.0, visit);
        B::visit_steps(&mut cell.1, visit);
    }

    fn forget_past(cell: &mut Self::Cell, is_past: &mut impl FnMut(StepId) -> bool, open: &dyn OpenRegions) {
        A::forget_past(&mut cell.0, is_past, open);
        B::forget_past(&mut cell.1, is_past, open);
    }

    fn visit_own_steps(&self, visit: &mut impl FnMut(&mut StepId)) {
        self.0.visit_own_steps(visit);
        self.1.visit_own_steps(visit);
    }

    fn bytes_beside(cell: &Self::Cell) -> usize {
        A::bytes_beside(&cell.0) + B::bytes_beside(&cell.1)
    }

    fn statistics(&self) -> Vec<Statistic> {
        self.0.statistics().into_iter().chain(self.1.statistics()).collect()
    }
}

impl<A: KeepsPlain, B: KeepsPlain> KeepsPlain for Both<A, B> {
    fn keeps_plain(&self) -> bool {
        self.0.keeps_plain() && self.1.keeps_plain()
    }

    fn minds_serial_steps(&self) -> bool {
        self.0.minds_serial_steps() || self.1.minds_serial_steps()
    }

    fn of_plain(plain: Plain, era: u32) -> Self::Cell {
        (A::of_plain(plain, era), B::of_plain(plain, era))
    }

    fn plain(cell: &Self::Cell) -> Option<Plain> {
        let plain = A::plain(&cell.0)?;
        (B::plain(&cell.1)? == plain).then_some(plain)
    }
}

/// An analysis that may not be wanted.
impl<A: TaskAnalysis> TaskAnalysis for Option<A> {
    const RECORDS: bool = A::RECORDS;
    const ONLY_RACES: bool = A::ONLY_RACES;

    type Cell = A::Cell;

    fn access<S: Relations>(
        &self,
        now: &mut Present<'_, S>,
        cell: &mut Self::Cell,
        part: Part,
        findings: &mut Findings,
    ) -> bool {
        self.as_ref().is_none_or(|analysis| analysis.access(now, cell, part, findings))
    }

    fn group(&self, group: GroupId, addr: Addr, size: u32) {
        self.iter().for_each(|analysis| analysis.group(group, addr, size));
    }

    fn operation(&self, at: &RawStep, actor: Actor) {
        self.iter().for_each(|analysis| analysis.operation(at, actor));
    }

    fn serial(&self, findings: &mut Findings) {
        self.iter().for_each(|analysis| analysis.serial(findings));
    }

    fn end_of_run(&self, findings: &mut Findings) {
        self.iter().for_each(|analysis| analysis.end_of_run(findings));
    }

    fn visit_steps(cell: &mut Self::Cell, visit: &mut impl FnMut(&mut StepId)) {
        A::visit_steps(cell, visit);
    }

    fn forget_past(cell: &mut Self::Cell, is_past: &mut impl FnMut(StepId) -> bool, open: &dyn OpenRegions) {
        A::forget_past(cell, is_past, open);
    }

    fn visit_own_steps(&self, visit: &mut impl FnMut(&mut StepId)) {
        self.iter().for_each(|analysis| analysis.visit_own_steps(visit));
    }

    fn bytes_beside(cell: &Self::Cell) -> usize {
        A::bytes_beside(cell)
    }

    fn statistics(&self) -> Vec<Statistic> {
        self.iter().flat_map(TaskAnalysis::statistics).collect()
    }
}

impl<A: TaskAnalysis<Cell: Send>> KeepsPlain for Option<A> {}
