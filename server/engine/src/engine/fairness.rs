//! Fairness: a large amount of work does not delay short commands.
//!
//! Among the tasks of one [`FairQueue`], only a few continue in one round of the runtime; the others wait in a
//! queue. Other tasks, such as commands, wait for these few at most.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Number of tasks that continue in one round.
const ROUND_SIZE: usize = 8;

/// The queues in which the engines of a process take turns. The two queues are separate, so that a prompt is
/// accepted without delay while many runs continue.
#[derive(Debug, Clone, Default)]
pub struct Fairness {
    /// Prompts that are not accepted yet.
    pub prompts: FairQueue,
    /// Runs in progress, which take turns.
    pub runs: FairQueue,
}

/// A queue of waiting tasks, of which a few continue at a time.
#[derive(Debug, Clone, Default)]
pub struct FairQueue(Arc<Mutex<WaitQueue>>);

#[derive(Debug, Default)]
struct WaitQueue {
    /// Number of tasks that continued in this round.
    resumed: usize,
    waiting: VecDeque<Arc<WaitSlot>>,
    /// `true` while a background task starts the rounds.
    has_rounds: bool,
}

/// The slot of a task in the queue.
#[derive(Debug, Default)]
struct WaitSlot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    is_waiting: bool,
    is_permitted: bool,
    waker: Option<Waker>,
}

impl WaitSlot {
    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FairQueue {
    fn lock(&self) -> MutexGuard<'_, WaitQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which takes its turn in the queue for each step. Needs a runtime.
    pub fn share<T, F: Future<Output = T>>(&self, work: F) -> impl Future<Output = T> + use<'_, T, F> {
        let slot = Arc::new(WaitSlot::default());
        // On the heap: the future of the work is large, and the futures of its callers contain it.
        let mut work = Box::pin(work);
        std::future::poll_fn(move |context| {
            if self.try_proceed(&slot, context.waker()) { work.as_mut().poll(context) } else { Poll::Pending }
        })
    }

    fn try_proceed(&self, slot: &Arc<WaitSlot>, waker: &Waker) -> bool {
        let mut queue = self.lock();
        let mut state = slot.state();
        if std::mem::take(&mut state.is_permitted) {
            return true;
        }
        if !state.is_waiting && queue.waiting.is_empty() && queue.resumed < ROUND_SIZE {
            queue.resumed += 1;
            return true;
        }
        state.waker = Some(waker.clone());
        if !std::mem::replace(&mut state.is_waiting, true) {
            queue.waiting.push_back(slot.clone());
        }
        if !std::mem::replace(&mut queue.has_rounds, true) {
            tokio::spawn(RoundDriver { queue: self.clone(), ended: false }.run());
        }
        false
    }

    /// Lets the next waiting tasks continue. Returns `false` if no task waits. The rounds have then ended, and the
    /// next task that waits starts them again.
    fn next_round(&self) -> bool {
        let mut queue = self.lock();
        let count = queue.waiting.len().min(ROUND_SIZE);
        queue.resumed = count;
        queue.has_rounds = count > 0;
        for slot in queue.waiting.drain(..count) {
            let mut state = slot.state();
            (state.is_waiting, state.is_permitted) = (false, true);
            state.waker.take().into_iter().for_each(Waker::wake);
        }
        count > 0
    }
}

/// Starts one round after the other while tasks wait.
struct RoundDriver {
    queue: FairQueue,
    ended: bool,
}

impl RoundDriver {
    async fn run(mut self) {
        while self.queue.next_round() {
            tokio::task::yield_now().await;
        }
        self.ended = true;
    }
}

impl Drop for RoundDriver {
    fn drop(&mut self) {
        // The runtime has ended. Rounds that ended by themselves may have been replaced by other rounds.
        if !self.ended {
            self.queue.lock().has_rounds = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn other_tasks_run_between_many_ready_tasks() {
        let (queue, steps) = (FairQueue::default(), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                let (queue, steps) = (queue.clone(), steps.clone());
                tokio::spawn(async move {
                    let work = async {
                        for _ in 0..10 {
                            steps.fetch_add(1, Ordering::Relaxed);
                            tokio::task::yield_now().await;
                        }
                    };
                    queue.share(work).await;
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
        assert!(most <= 2 * ROUND_SIZE, "{most} steps while a task waited for one");
    }

    #[tokio::test]
    async fn prompt_proceeds_at_once_while_many_runs_wait() {
        let fairness = Fairness::default();
        let mut runs: Vec<_> = (0..3 * ROUND_SIZE)
            .map(|_| Box::pin(fairness.runs.share(std::future::pending::<()>())))
            .collect();
        for run in &mut runs {
            assert!(futures::poll!(run).is_pending());
        }
        assert!(!fairness.runs.lock().waiting.is_empty(), "no run waits");
        let mut prompt = Box::pin(fairness.prompts.share(std::future::ready(())));
        assert!(futures::poll!(&mut prompt).is_ready());
    }

    #[test]
    fn task_waiting_after_the_last_round_restarts_the_rounds() {
        let queue = FairQueue::default();
        queue.lock().has_rounds = true;
        assert!(!queue.next_round(), "no task waits");
        assert!(!queue.lock().has_rounds, "a task that waits now would wait for rounds that have ended");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn tasks_of_several_threads_all_finish() {
        let queue = FairQueue::default();
        let tasks = (0..3 * ROUND_SIZE).map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    queue.share(tokio::task::yield_now()).await;
                }
            })
        });
        let all = futures::future::try_join_all(tasks);
        tokio::time::timeout(std::time::Duration::from_secs(60), all)
            .await
            .expect("a task waits forever")
            .unwrap();
    }
}
