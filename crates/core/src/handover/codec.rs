//! Findings as bytes: numbers of variable length, ids one more than their number, lists with their length in front.

use crate::event::{
    Addr, FunctionId, GroupId, LockId, LockMode, Op, RegionId, SiteId, StackId, TaskId, ThreadId,
};
use crate::finding::{
    Cycle, Doubt, Evidence, Lineage, Locking, Moment, Proof, Race, RawEdge, RawFinding, RawStep, RawTask,
    RawTransaction, Reduction, Refuted, Rule, Segment, Torn, Verdict, Whole, Witness,
};
use crate::stack::Frame;
use crate::tasks::Actor;
use crate::trace::native::decode::decode_single_op;
use crate::trace::native::encode::encode_op;
use crate::trace::native::names::id_of;
use crate::trace::native::varint::{Cursor, put};
use std::io;

/// Stands for a region that is a function or a critical section: its number is out of the range that traces allow.
const OP_BEGIN_MADE_UP: u8 = 0xFF;
const OP_OTHER: u8 = 0;

/// Something that can be put into a record.
pub(super) trait Encode {
    /// Appends it. An error if a reader would refuse it.
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()>;
}

/// Something that can be taken out of a record.
pub(super) trait Decode: Sized {
    /// Reads it. None if the bytes break the format.
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self>;
}

/// Both directions of an id.
macro_rules! id {
    ($($name:ident),*) => {$(
        impl Encode for $name {
            fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
                put(bytes, u64::from(self.0.wrapping_add(1)));
                Ok(())
            }
        }

        impl Decode for $name {
            fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
                id_of(cursor).map($name)
            }
        }
    )*};
}

id!(FunctionId, GroupId, LockId, RegionId, SiteId, StackId, TaskId, ThreadId);

/// Both directions of a structure: its fields, one after the other.
macro_rules! structure {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Encode for $name {
            fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
                $(self.$field.encode(bytes)?;)*
                Ok(())
            }
        }

        impl Decode for $name {
            fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
                Some($name { $($field: Decode::decode(cursor)?),* })
            }
        }
    )*};
}

structure! {
    Moment { position, thread, site, stack }
    Frame { function, call_site }
    RawStep { moment, op }
    RawTask { actor, spawned }
    Lineage { common, paths }
    RawTransaction { thread, region, steps }
    RawEdge { from, to }
    Refuted { region, begin }
    Cycle { transactions, edges, blamed, refuted }
    Race { addr, size }
    Locking { addr, size, held }
    Reduction { blocks, commit, broken }
    Torn { addr, size, whole, group, inside }
    Segment { actor, first, last, operations, shown }
    Witness { as_observed_until, segments, proof }
    RawFinding { rule, verdict, steps, evidence, lineage, count }
}

impl Encode for u64 {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        put(bytes, *self);
        Ok(())
    }
}

impl Decode for u64 {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        cursor.varint()
    }
}

impl Encode for u32 {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        u64::from(*self).encode(bytes)
    }
}

impl Decode for u32 {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        cursor.varint_u32()
    }
}

impl Encode for usize {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (*self as u64).encode(bytes)
    }
}

impl Decode for usize {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        usize::try_from(cursor.varint()?).ok()
    }
}

impl Encode for bool {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.push(u8::from(*self));
        Ok(())
    }
}

impl Decode for bool {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        match cursor.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Encode for Addr {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.0.encode(bytes)
    }
}

impl Decode for Addr {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        cursor.varint().map(Addr)
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.len().encode(bytes)?;
        self.iter().try_for_each(|entry| entry.encode(bytes))
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self[..].encode(bytes)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        let count = usize::decode(cursor)?;
        // Every entry has at least one byte, so that a wrong count costs no memory.
        if count > cursor.left()? {
            return None;
        }
        (0..count).map(|_| T::decode(cursor)).collect()
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.is_some().encode(bytes)?;
        self.as_ref().map_or(Ok(()), |content| content.encode(bytes))
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        if bool::decode(cursor)? { T::decode(cursor).map(Some) } else { Some(None) }
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.0.encode(bytes)?;
        self.1.encode(bytes)
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some((A::decode(cursor)?, B::decode(cursor)?))
    }
}

impl Encode for LockMode {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (*self == LockMode::Shared).encode(bytes)
    }
}

impl Decode for LockMode {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(if bool::decode(cursor)? { LockMode::Shared } else { LockMode::Exclusive })
    }
}

impl Encode for Op {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match *self {
            Op::Begin { region } if region.function().is_some() || region.critical_section().is_some() => {
                bytes.push(OP_BEGIN_MADE_UP);
                region.encode(bytes)
            }
            op => {
                bytes.push(OP_OTHER);
                encode_op(op, bytes)
            }
        }
    }
}

impl Decode for Op {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        match cursor.byte()? {
            OP_BEGIN_MADE_UP => Some(Op::Begin { region: RegionId::decode(cursor)? }),
            OP_OTHER => decode_single_op(cursor),
            _ => None,
        }
    }
}

impl Encode for Actor {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Actor::Thread(thread) => (false, *thread).encode(bytes),
            Actor::Task(task) => (true, *task).encode(bytes),
        }
    }
}

impl Decode for Actor {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(if bool::decode(cursor)? {
            Actor::Task(TaskId::decode(cursor)?)
        } else {
            Actor::Thread(ThreadId::decode(cursor)?)
        })
    }
}

impl Encode for Rule {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.push(match self {
            Rule::AtomicityViolation => 0,
            Rule::DataRace => 1,
            Rule::InconsistentLocking => 2,
            Rule::IrreducibleBlock => 3,
            Rule::LockGap => 4,
        });
        Ok(())
    }
}

impl Decode for Rule {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Rule::ALL.get(usize::from(cursor.byte()?)).copied()
    }
}

const PROOFS: [Proof; 3] = [Proof::Operations, Proof::Branches, Proof::Values];

impl Encode for Proof {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.push(match self {
            Proof::Operations => 0,
            Proof::Branches => 1,
            Proof::Values => 2,
        });
        Ok(())
    }
}

impl Decode for Proof {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        PROOFS.get(usize::from(cursor.byte()?)).copied()
    }
}

impl Encode for Verdict {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Verdict::Observed => bytes.push(0),
            Verdict::OtherSchedule { witness: Some(witness) } => {
                bytes.push(1);
                witness.encode(bytes)?;
            }
            Verdict::OtherSchedule { witness: None } => bytes.push(6),
            Verdict::Suspected(doubt) => bytes.push(match doubt {
                Doubt::Heuristic => 2,
                Doubt::NotExamined => 3,
                Doubt::LocksForbid => 4,
                Doubt::SearchGivenUp => 5,
                Doubt::ValuesUnknown => 7,
                Doubt::NeedsSolver => 8,
                Doubt::OtherSide => 9,
            }),
        }
        Ok(())
    }
}

impl Decode for Verdict {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(match cursor.byte()? {
            0 => Verdict::Observed,
            1 => Verdict::OtherSchedule { witness: Some(Box::new(Witness::decode(cursor)?)) },
            6 => Verdict::OtherSchedule { witness: None },
            2 => Verdict::Suspected(Doubt::Heuristic),
            3 => Verdict::Suspected(Doubt::NotExamined),
            4 => Verdict::Suspected(Doubt::LocksForbid),
            5 => Verdict::Suspected(Doubt::SearchGivenUp),
            7 => Verdict::Suspected(Doubt::ValuesUnknown),
            8 => Verdict::Suspected(Doubt::NeedsSolver),
            9 => Verdict::Suspected(Doubt::OtherSide),
            _ => return None,
        })
    }
}

impl Encode for Whole {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Whole::Step => bytes.push(0),
            Whole::Block(region) => {
                bytes.push(1);
                region.encode(bytes)?;
            }
            Whole::Holds(lock) => {
                bytes.push(2);
                lock.encode(bytes)?;
            }
        }
        Ok(())
    }
}

impl Decode for Whole {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(match cursor.byte()? {
            0 => Whole::Step,
            1 => Whole::Block(RegionId::decode(cursor)?),
            2 => Whole::Holds(LockId::decode(cursor)?),
            _ => return None,
        })
    }
}

impl Encode for Evidence {
    fn encode(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let (number, content): (u8, &dyn Encode) = match self {
            Evidence::Cycle(cycle) => (0, cycle),
            Evidence::Race(race) => (1, race),
            Evidence::Locking(locking) => (2, locking),
            Evidence::Reduction(reduction) => (3, reduction),
            Evidence::Torn(torn) => (4, torn),
        };
        bytes.push(number);
        content.encode(bytes)
    }
}

impl Decode for Evidence {
    fn decode(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(match cursor.byte()? {
            0 => Evidence::Cycle(Decode::decode(cursor)?),
            1 => Evidence::Race(Decode::decode(cursor)?),
            2 => Evidence::Locking(Decode::decode(cursor)?),
            3 => Evidence::Reduction(Decode::decode(cursor)?),
            4 => Evidence::Torn(Decode::decode(cursor)?),
            _ => return None,
        })
    }
}
