//! Fairness: a large amount of work does not delay short commands.
//!
//! Among the tasks that share a [`Fairness`], only a few continue in one round of the runtime; the others wait in line.
//! Other tasks, such as commands, wait for these few at most.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Number of tasks that continue in one round.
const ROUND: usize = 8;

/// A line of waiting tasks, of which a few continue at a time.
#[derive(Debug, Clone, Default)]
pub struct Fairness(Arc<Mutex<Line>>);

#[derive(Debug, Default)]
struct Line {
    /// Number of tasks that continued in this round.
    went: usize,
    waiting: VecDeque<Arc<Place>>,
    /// `true` if a task starts the rounds.
    has_rounds: bool,
}

/// The place of a task in the line.
#[derive(Debug, Default)]
struct Place(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waits: bool,
    may_go: bool,
    waker: Option<Waker>,
}

impl Place {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fairness {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the work, one step per turn in the line. Needs a runtime.
    pub fn share<T, F: Future<Output = T>>(&self, work: F) -> impl Future<Output = T> + use<'_, T, F> {
        let place = Arc::new(Place::default());
        // On the heap: the future of the work is large, and the futures of its callers contain it.
        let mut work = Box::pin(work);
        std::future::poll_fn(move |context| {
            if self.may_go(&place, context.waker()) { work.as_mut().poll(context) } else { Poll::Pending }
        })
    }

    fn may_go(&self, place: &Arc<Place>, waker: &Waker) -> bool {
        let mut line = self.line();
        let mut state = place.state();
        if std::mem::take(&mut state.may_go) {
            return true;
        }
        if !state.waits && line.waiting.is_empty() && line.went < ROUND {
            line.went += 1;
            return true;
        }
        state.waker = Some(waker.clone());
        if !std::mem::replace(&mut state.waits, true) {
            line.waiting.push_back(place.clone());
        }
        if !std::mem::replace(&mut line.has_rounds, true) {
            tokio::spawn(Rounds { fairness: self.clone(), have_ended: false }.begin());
        }
        false
    }

    /// Lets the next waiting tasks continue. Returns `false` if no task waits: the rounds have ended, and the next
    /// waiting task starts them again.
    fn next_round(&self) -> bool {
        let mut line = self.line();
        let count = line.waiting.len().min(ROUND);
        line.went = count;
        line.has_rounds = count > 0;
        for place in line.waiting.drain(..count) {
            let mut state = place.state();
            (state.waits, state.may_go) = (false, true);
            state.waker.take().into_iter().for_each(Waker::wake);
        }
        count > 0
    }
}

/// Starts one round after the other while tasks wait.
struct Rounds {
    fairness: Fairness,
    have_ended: bool,
}

impl Rounds {
    async fn begin(mut self) {
        while self.fairness.next_round() {
            tokio::task::yield_now().await;
        }
        self.have_ended = true;
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        // The runtime has ended. Rounds that ended by themselves may have been replaced by other rounds.
        if !self.have_ended {
            self.fairness.line().has_rounds = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn many_tasks_that_are_always_ready_let_others_in_between() {
        let (fairness, steps) = (Fairness::default(), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                let (fairness, steps) = (fairness.clone(), steps.clone());
                tokio::spawn(async move {
                    let work = async {
                        for _ in 0..10 {
                            steps.fetch_add(1, Ordering::Relaxed);
                            tokio::task::yield_now().await;
                        }
                    };
                    fairness.share(work).await;
                })
            })
            .collect();
        let mut most = 0;
        while tasks.iter().any(|task| !task.is_finished()) {
            let before = steps.load(Ordering::Relaxed);
            tokio::task::yield_now().await;
            most = most.max(steps.load(Ordering::Relaxed) - before);
        }
        assert_eq!(steps.load(Ordering::Relaxed), 2000);
        assert!(most <= 2 * ROUND, "{most} steps while somebody waited for one");
    }

    #[test]
    fn whoever_waits_after_the_last_round_begins_the_rounds_again() {
        let fairness = Fairness::default();
        fairness.line().has_rounds = true;
        assert!(!fairness.next_round(), "nobody waits");
        assert!(!fairness.line().has_rounds, "somebody who waits now would wait for rounds that have ended");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn tasks_of_several_threads_all_come_to_their_end() {
        let fairness = Fairness::default();
        let tasks = (0..3 * ROUND).map(|_| {
            let fairness = fairness.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    fairness.share(tokio::task::yield_now()).await;
                }
            })
        });
        let all = futures::future::try_join_all(tasks);
        tokio::time::timeout(std::time::Duration::from_secs(60), all)
            .await
            .expect("somebody waits for ever")
            .unwrap();
    }
}
