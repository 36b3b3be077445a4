//! Threads in a scope, each with its part of an array, again and again.
fn main() {
    kernels::kernel(120, |rounds| {
        let mut cells = vec![1u32; 1 << 20];
        let part = cells.len() / kernels::threads();
        for _ in 0..rounds {
            std::thread::scope(|scope| {
                for cells in cells.chunks_mut(part) {
                    scope.spawn(move || {
                        for index in 1..cells.len() {
                            cells[index] = cells[index].wrapping_mul(5).wrapping_add(cells[index - 1] >> 3);
                        }
                    });
                }
            });
        }
        cells.iter().fold(0u32, |sum, cell| sum.wrapping_add(*cell))
    });
}
