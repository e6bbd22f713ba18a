//! Tests of sessions on a disk in memory that fails on request.
//!
//! Each change of the disk is a step with a number. A test can let any step fail, and so go through all steps.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod property;
#[cfg(test)]
pub(super) mod script;
#[cfg(test)]
mod truncated_file;
#[cfg(test)]
mod unresponsive_disk;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::error::Holder;
use super::storage::{Claim, Identity, Storage, StoredFile};

/// Time limit that no correct test reaches.
const LONG: Duration = Duration::from_secs(60);

/// The way in which a step fails.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The machine stops during the step with this number. If the step is a write, `tenths` tenths of its
    /// bytes are written. Any other step is carried out if `tenths` is greater than 5.
    Crash { step: usize, tenths: usize },
    /// The disk is full during these steps. Only half of a write is done. With `truncate`, files cannot be truncated
    /// either.
    Full { steps: Range<usize>, truncate: bool },
    /// The program panics in this step.
    Panic { step: usize },
}

/// Number of tenths of the unsynced data that survive a power failure; `None` if only the process ended.
pub type PowerLoss = Option<usize>;

#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    memory: Arc<Mutex<DiskState>>,
    gate: Arc<Gate>,
}

/// Blocks steps while the disk does not answer.
#[derive(Debug, Default)]
struct Gate {
    /// Number of steps until the disk stops answering; `None` if it answers all.
    left: Mutex<Option<usize>>,
    thawed: Condvar,
}

impl Gate {
    fn wait_for_step(&self) {
        let left = self.left.lock().unwrap();
        let waited = self.thawed.wait_timeout_while(left, LONG, |left| *left == Some(0));
        let (mut left, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "the disk was not released in time");
        if let Some(left) = left.as_mut() {
            *left -= 1;
        }
    }
}

#[derive(Debug, Clone, Default)]
struct DiskState {
    nodes: Vec<DiskNode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    steps: usize,
    fault: Option<Fault>,
    crashed: bool,
    read_only: bool,
    /// Identities of claimed files, by the numbers of the claims.
    claims: BTreeMap<usize, Identity>,
    claimed: usize,
}

struct MemoryClaim(MemoryDisk, usize);

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        self.0.memory().claims.remove(&self.1);
    }
}

#[derive(Debug, Clone, Default)]
struct DiskNode {
    content: Vec<u8>,
    durable: Vec<u8>,
    locked: bool,
}

struct MemoryFile {
    disk: MemoryDisk,
    node: usize,
}

impl MemoryDisk {
    /// Creates a disk with one file that is already synced.
    pub fn with(path: &Path, content: &[u8]) -> Self {
        let disk = Self::default();
        let node = DiskNode { content: content.into(), durable: content.into(), locked: false };
        let mut memory = disk.memory();
        memory.nodes.push(node);
        memory.names.insert(path.to_owned(), 0);
        memory.durable_names.insert(path.to_owned(), 0);
        drop(memory);
        disk
    }

    pub fn failing(self, fault: Fault) -> Self {
        self.memory().fault = Some(fault);
        self
    }

    /// Replaces the content of a file as another program would. The file keeps its identity.
    pub fn overwrite(&self, path: &Path, content: &[u8]) {
        let mut memory = self.memory();
        let node = memory.names[path];
        memory.nodes[node].content = content.into();
    }

    /// Makes the files of the disk read-only.
    pub fn read_only(self) -> Self {
        self.memory().read_only = true;
        self
    }

    /// Returns the number of steps so far.
    pub fn steps(&self) -> usize {
        self.memory().steps
    }

    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let memory = self.memory();
        Some(memory.nodes[*memory.names.get(path)?].content.clone())
    }

    pub fn read(&self, path: &Path) -> Option<String> {
        self.bytes(path).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    pub fn names(&self) -> Vec<PathBuf> {
        self.memory().names.keys().cloned().collect()
    }

    /// Returns the disk in the state in which it is after a restart of the machine, or of the process.
    pub fn survivor(&self, loss: PowerLoss) -> Self {
        let mut memory = self.memory().clone();
        (memory.fault, memory.crashed) = (None, false);
        memory.claims.clear();
        for node in &mut memory.nodes {
            node.locked = false;
            if let Some(tenths) = loss {
                let common = node.content.iter().zip(&node.durable).take_while(|(one, other)| one == other);
                // Data that was cut but not synced may return; otherwise a part of the added data may survive.
                if common.count() == node.durable.len() {
                    let more = (node.content.len() - node.durable.len()) * tenths / 10;
                    node.content.truncate(node.durable.len() + more);
                } else if tenths < 10 {
                    node.content.clone_from(&node.durable);
                }
            }
            node.durable.clone_from(&node.content);
        }
        if loss.is_some_and(|tenths| tenths < 10) {
            memory.names.clone_from(&memory.durable_names);
        }
        memory.durable_names.clone_from(&memory.names);
        Self { memory: Arc::new(Mutex::new(memory)), gate: Arc::default() }
    }

    fn memory(&self) -> MutexGuard<'_, DiskState> {
        self.memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes the disk stop answering after this number of further steps.
    pub fn freeze(&self, after: usize) {
        *self.gate.left.lock().unwrap() = Some(after);
    }

    /// Lets the disk answer again.
    pub fn thaw(&self) {
        *self.gate.left.lock().unwrap() = None;
        self.gate.thawed.notify_all();
    }

    fn node(&self, path: &Path) -> io::Result<usize> {
        self.memory().alive()?.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl DiskState {
    fn alive(&mut self) -> io::Result<&mut Self> {
        if self.crashed { Err(io::Error::other("the machine has stopped")) } else { Ok(self) }
    }

    /// Performs a step. `apply` receives the number of tenths to do, which is 10 without a fault.
    fn step(&mut self, needs_space: bool, apply: impl FnOnce(&mut Self, usize)) -> io::Result<()> {
        self.alive()?;
        let number = self.steps;
        self.steps += 1;
        match &self.fault {
            Some(Fault::Crash { step, tenths }) if *step == number => {
                let tenths = *tenths;
                apply(self, tenths);
                self.crashed = true;
                Err(io::Error::other("the machine stops"))
            }
            Some(Fault::Full { steps, truncate })
                if steps.contains(&number) && (needs_space || *truncate) =>
            {
                apply(self, if needs_space { 5 } else { 0 });
                Err(ErrorKind::StorageFull.into())
            }
            Some(Fault::Panic { step }) if *step == number => panic!("a defect of the program"),
            _ => {
                apply(self, 10);
                Ok(())
            }
        }
    }
}

impl Storage for MemoryDisk {
    fn create_directory(&self, _: &Path) -> io::Result<()> {
        self.memory().alive().map(drop)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.gate.wait_for_step();
        let mut memory = self.memory();
        if memory.alive()?.names.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let node = memory.nodes.len();
        memory.step(true, |memory, tenths| {
            if tenths > 5 {
                memory.nodes.push(DiskNode::default());
                memory.names.insert(path.to_owned(), node);
            }
        })?;
        Ok(Arc::new(MemoryFile { disk: self.clone(), node }))
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn StoredFile>> {
        if write && self.memory().read_only {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(Arc::new(MemoryFile { disk: self.clone(), node: self.node(path)? }))
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        self.node(path).map(|node| Identity::new(0, node as u64))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.node(path).map(|_| path.to_owned())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.gate.wait_for_step();
        let node = self.node(from)?;
        let mut memory = self.memory();
        if memory.names.contains_key(to) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        memory.step(true, |memory, tenths| {
            if tenths > 5 {
                memory.names.insert(to.to_owned(), node);
            }
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.gate.wait_for_step();
        let node = self.node(from)?;
        self.memory().step(false, |memory, tenths| {
            if tenths > 5 {
                memory.names.remove(from);
                memory.names.insert(to.to_owned(), node);
            }
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.gate.wait_for_step();
        self.node(path)?;
        self.memory().step(false, |memory, tenths| {
            if tenths > 5 {
                memory.names.remove(path);
            }
        })
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.gate.wait_for_step();
        self.memory().step(false, |memory, tenths| {
            if tenths > 5 {
                memory.durable_names.clone_from(&memory.names);
            }
        })
    }
    fn claim(&self, _: &Path, identity: Identity) -> io::Result<Claim> {
        let mut memory = self.memory();
        memory.claimed += 1;
        let number = memory.claimed;
        memory.claims.insert(number, identity);
        Ok(Box::new(MemoryClaim(self.clone(), number)))
    }

    fn claim_holder(&self, _: &Path, identity: Identity) -> io::Result<Option<Holder>> {
        Ok(self.is_claimed(identity).then_some(Holder(None)))
    }
}

impl MemoryDisk {
    /// Returns the number of locked files.
    pub fn locks(&self) -> usize {
        self.memory().nodes.iter().filter(|node| node.locked).count()
    }

    fn is_claimed(&self, identity: Identity) -> bool {
        self.memory().claims.values().any(|claimed| *claimed == identity)
    }
}

impl StoredFile for MemoryFile {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.disk.memory().alive()?.nodes[self.node].content.clone())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let mut memory = self.disk.memory();
        let content = &memory.alive()?.nodes[self.node].content;
        let rest = content.get(usize::try_from(at).unwrap()..).unwrap_or_default();
        // A system may return less than requested.
        let count = bytes.len().min(rest.len()).min(100);
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.memory().alive()?.nodes[self.node].content.len() as u64)
    }

    fn last_byte(&self) -> io::Result<Option<u8>> {
        Ok(self.disk.memory().alive()?.nodes[self.node].content.last().copied())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.gate.wait_for_step();
        let mut count = 0;
        let mut memory = self.disk.memory();
        let result = memory.step(true, |memory, tenths| {
            count = bytes.len() * tenths / 10;
            memory.nodes[self.node].content.extend_from_slice(&bytes[..count]);
        });
        // As on a real system: the write fills the remaining room, and the next write reports the error.
        match result {
            Err(error) if error.kind() == ErrorKind::StorageFull && count > 0 => Ok(count),
            result => result.map(|()| count),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.disk.gate.wait_for_step();
        self.disk.memory().step(false, |memory, tenths| {
            if tenths > 5 {
                memory.nodes[self.node].content.truncate(usize::try_from(length).unwrap());
            }
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.gate.wait_for_step();
        self.disk.memory().step(false, |memory, tenths| {
            if tenths > 5 {
                let node = &mut memory.nodes[self.node];
                node.durable.clone_from(&node.content);
            }
        })
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut memory = self.disk.memory();
        let node = &mut memory.alive()?.nodes[self.node];
        Ok(!std::mem::replace(&mut node.locked, true))
    }

    fn unlock(&self) {
        self.disk.memory().nodes[self.node].locked = false;
    }

    fn holder(&self) -> Option<u32> {
        None
    }

    fn identity(&self) -> io::Result<Identity> {
        self.disk.memory().alive()?;
        Ok(Identity::new(0, self.node as u64))
    }
}
