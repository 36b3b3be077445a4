//! Trees on the heap, built and added up by tasks.
struct Tree {
    value: u64,
    children: Option<(Box<Tree>, Box<Tree>)>,
}

fn build(depth: u32, value: u64) -> Tree {
    let children = (depth > 0).then(|| {
        let (a, b) = rayon::join(|| build(depth - 1, 2 * value), || build(depth - 1, 2 * value + 1));
        (Box::new(a), Box::new(b))
    });
    Tree { value, children }
}

fn sum(tree: &Tree) -> u64 {
    match &tree.children {
        None => tree.value,
        Some((a, b)) => {
            let (a, b) = rayon::join(|| sum(a), || sum(b));
            tree.value + a + b
        }
    }
}

fn main() {
    kernels::kernel(24, |rounds| (0..rounds as u64).map(|round| sum(&build(15, round))).sum::<u64>());
}
