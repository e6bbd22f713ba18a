//! The Rust runtime of this process, and its shutdown when the interpreter ends. A forked child creates a
//! runtime of its own.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentese::dynamic::{Client, WeakClient};
use agentese::transport::ProcessGroup;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::generation::generation;

/// A runtime and the process that owns it. It is never freed: a forked child cannot drop an inherited
/// runtime, because the threads do not exist there.
struct ProcessRuntime {
    generation: u32,
    runtime: Runtime,
    clients: Mutex<Vec<TrackedClient>>,
}

/// A client, and its process group, which may outlive it.
struct TrackedClient {
    client: WeakClient,
    group: Option<ProcessGroup>,
}

/// The time that killed agents have to exit when the interpreter ends.
const REAP_WAIT: Duration = Duration::from_secs(1);

static CURRENT: AtomicPtr<ProcessRuntime> = AtomicPtr::new(std::ptr::null_mut());

fn process_runtime() -> &'static ProcessRuntime {
    let current = CURRENT.load(Ordering::Acquire);
    // SAFETY: the pointer refers to leaked memory, which never changes.
    #[allow(unsafe_code)]
    if let Some(owned) = unsafe { current.as_ref() }
        && owned.generation == generation()
    {
        return owned;
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("agentese")
        .enable_all()
        .build()
        .expect("a runtime can be started");
    let made = Box::into_raw(Box::new(ProcessRuntime {
        generation: generation(),
        runtime,
        clients: Mutex::default(),
    }));
    match CURRENT.compare_exchange(current, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above. A thread that lost the race leaks an idle runtime, once.
        #[allow(unsafe_code)]
        Ok(_) => unsafe { &*made },
        Err(_) => process_runtime(),
    }
}

/// Returns the runtime of this process.
pub fn handle() -> &'static Handle {
    process_runtime().runtime.handle()
}

/// Registers a client until its agent has exited. When the interpreter ends, the agents of all registered
/// clients are ended.
pub fn track(client: &Client) {
    let mut clients = process_runtime().clients.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|known| match &known.group {
        Some(group) => !group.is_over(),
        None => known.client.upgrade().is_some(),
    });
    clients.push(TrackedClient { client: client.downgrade(), group: client.process_group() });
}

/// Ends all agents and waits for their exit, at most `seconds`. Then kills the remaining ones. Called when
/// the interpreter ends.
#[pyfunction]
pub fn shut_down(py: Python<'_>, seconds: f64) {
    let current = CURRENT.load(Ordering::Acquire);
    // SAFETY: as in `owned`.
    #[allow(unsafe_code)]
    let Some(owned) = (unsafe { current.as_ref() }) else { return };
    if owned.generation != generation() {
        return;
    }
    let known = std::mem::take(&mut *owned.clients.lock().unwrap_or_else(PoisonError::into_inner));
    let clients: Vec<_> = known
        .iter()
        .filter_map(|known| known.client.upgrade())
        .filter(|client| client.ended().is_none())
        .collect();
    // The agent of a dropped client may still be exiting.
    let groups: Vec<_> = known.iter().filter_map(|known| known.group.as_ref()).collect();
    let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(5));
    py.detach(|| {
        let closing = futures::future::join_all(clients.iter().map(|client| client.close()));
        let gone = || futures::future::join_all(groups.iter().map(|group| group.wait()));
        owned.runtime.block_on(async {
            let ended = futures::future::join(closing, gone());
            if tokio::time::timeout(limit, ended).await.is_err() {
                groups.iter().for_each(|group| group.kill());
                let _ = tokio::time::timeout(REAP_WAIT, gone()).await;
            }
        });
    });
}
