//! What of a finding is drawn: boxes and lines, and the source text with its marks. No part of the JSON.

/// A finding as a picture of boxes and lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Graph {
    /// The boxes.
    pub(crate) boxes: Vec<GraphBox>,
    /// The lines between them.
    pub(crate) edges: Vec<GraphEdge>,
}

/// A box with some lines of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GraphBox {
    /// The text.
    pub(crate) lines: Vec<String>,
    /// The outline.
    pub(crate) outline: Outline,
}

/// How a box is outlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outline {
    /// Once.
    Plain,
    /// Twice: the finding speaks against it.
    Double,
    /// Dashed: it did not happen, but may.
    Dashed,
}

/// A line between two boxes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GraphEdge {
    /// Index of the box where it starts.
    pub(crate) from: usize,
    /// Index of the box where it ends.
    pub(crate) to: usize,
    /// What to write beside it.
    pub(crate) label: String,
    /// How it is drawn.
    pub(crate) line: Line,
}

/// How a line is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// One comes before the other.
    Arrow,
    /// So does it here, against all the others.
    DashedArrow,
    /// Neither comes before the other.
    Dashed,
    /// One comes after the other in time, which says nothing about where they stand.
    Then,
}

/// Some consecutive lines of a source file, with the marks of the operations in them.
#[derive(Clone, Debug)]
pub(crate) struct Snippet {
    /// The file.
    pub(crate) file: String,
    /// Number of the first line.
    pub(crate) first_line: usize,
    /// The lines, each ended by a line feed.
    pub(crate) text: String,
    /// The marks, in the order of the interleaving.
    pub(crate) marks: Vec<Mark>,
}

/// A marked stretch of a snippet.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// The marked bytes of the snippet's text.
    pub(crate) span: std::ops::Range<usize>,
    /// What to write beside it.
    pub(crate) label: String,
    /// Whether it belongs to the blamed transaction.
    pub(crate) primary: bool,
}
