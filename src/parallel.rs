//! Independent work on all processors. What comes out does not depend on how many there are: every piece of work is
//! decided by its input alone, and answers come in the order of the questions.
//!
//! The one place that starts threads of the pure core.
//!
//! May import: (nothing of this crate)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Both answers.
///
/// # Panics
/// When one of them does.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

/// The answer to each question, in their order.
///
/// # Panics
/// When one of them does.
pub fn map<T: Sync, A: Send>(questions: &[T], answer: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(questions.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = questions.get(at) else { break answers };
            answers.push((at, answer(question)));
        }
    };
    let mut answers = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut answers = work();
        for other in others {
            answers.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        answers
    });
    answers.sort_unstable_by_key(|&(at, _)| at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let questions: Vec<u64> = (0..500).collect();
        // The first ones take longest.
        let slow =
            |&n: &u64| (0..(500 - n) * 200).fold(n, |sum, k| std::hint::black_box(sum ^ (k & 1)) ^ (k & 1));
        assert_eq!(map(&questions, slow), questions.iter().map(slow).collect::<Vec<_>>());
        assert!(map(&[], slow).is_empty());
        assert_eq!(both(|| 1, || 2), (1, 2));
    }
}
