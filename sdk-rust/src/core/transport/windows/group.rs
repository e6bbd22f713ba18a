//! A child and its descendants, in a job object.

use std::io;
use std::os::windows::io::BorrowedHandle;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};
use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED};

use super::job::Job;
use super::resume::resume;

/// A job object with all processes of a child. Dropping the job ends them. They also end when this process ends
/// for any reason.
pub(in super::super) struct Group(Mutex<Option<Job>>);

impl Group {
    /// Starts a program in a job of its own, without a window and independent of this console's Ctrl-C.
    ///
    /// The program starts suspended and runs only after it was added to the job, so all its children are in
    /// the job too.
    pub(in super::super) fn spawn(mut command: Command) -> io::Result<(Child, Self)> {
        command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
        let mut child = command.spawn()?;
        match Self::adopt(&child) {
            Ok(group) => Ok((child, group)),
            Err(error) => {
                // The process is still suspended, and no other code would end it.
                let _ = child.start_kill();
                Err(error)
            }
        }
    }

    fn adopt(child: &Child) -> io::Result<Self> {
        let lost = || io::Error::other("the child has ended before it was started");
        let id = child.id().ok_or_else(lost)?;
        let handle = child.raw_handle().ok_or_else(lost)?;
        let job = Job::new()?;
        // SAFETY: the child owns the handle and is borrowed for as long as this is used.
        #[allow(unsafe_code)]
        job.add(unsafe { BorrowedHandle::borrow_raw(handle) })?;
        resume(id)?;
        Ok(Self(Mutex::new(Some(job))))
    }

    /// Returns `false`: Windows cannot request a program without a window to end.
    pub(in super::super) fn ask_to_end(&self) -> bool {
        false
    }

    /// Kills every process of the job.
    pub(in super::super) fn kill(&self) {
        if let Some(job) = &*self.job()
            && let Err(error) = job.terminate()
        {
            tracing::warn!(%error, "could not terminate a job");
        }
    }

    /// Drops the job. The system ends its remaining processes.
    pub(in super::super) fn finish(&self) {
        self.job().take();
    }

    /// Returns `true` if the job has no process. Returns `false` if the job cannot be queried.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.job().as_ref().is_none_or(|job| job.active().is_ok_and(|count| count == 0))
    }

    fn job(&self) -> MutexGuard<'_, Option<Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
