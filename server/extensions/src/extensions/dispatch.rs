//! Handling of the frames that a process sends on its own initiative.

use std::sync::{Arc, Weak};

use agentese::types::{ExtensionFrame, LogLevel};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::host::Host;
use super::process::{Process, ProcessEnd, ProcessListener};
use super::response::reject;
use crate::ui::{Dialog, Notice};

/// A weak reference to the host, through which the host receives the output of a process.
pub(super) struct WeakHost(pub Weak<Host>);

impl ProcessListener for WeakHost {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {
            let ui = self.0.upgrade().and_then(|host| host.ui.get().cloned());
            if let Some(ui) = ui {
                ui.wait_for_reader().await;
            }
        }
        .boxed()
    }

    fn frame(&self, process: &Arc<Process>, frame: ExtensionFrame) {
        if let Some(host) = self.0.upgrade() {
            host.handle_frame(process, frame);
        }
    }

    fn late_answer(&self, process: &Arc<Process>) {
        if let Some(host) = self.0.upgrade() {
            host.restore_extensions(process);
        }
    }

    fn ended(&self, process: &Arc<Process>, end: Option<ProcessEnd>) {
        if let Some(host) = self.0.upgrade() {
            host.handle_exit(process, end);
        }
    }
}

impl Host {
    fn handle_frame(&self, process: &Arc<Process>, frame: ExtensionFrame) {
        use ExtensionFrame as Frame;
        match frame {
            Frame::Select(dialog) => self.open_dialog(process, Dialog::Select(dialog, Vec::new())),
            Frame::Confirm(dialog) => self.open_dialog(process, Dialog::Confirm(dialog)),
            Frame::Input(dialog) => self.open_dialog(process, Dialog::Input(dialog)),
            Frame::Editor(dialog) => self.open_dialog(process, Dialog::Editor(dialog)),
            Frame::Withdraw(withdraw) => self.withdraw(process, &withdraw.question),
            Frame::Notify(notice) => self.show_notice(Notice::Notice(notice)),
            Frame::SetStatus(notice) => self.show_notice(Notice::Status(notice)),
            Frame::SetWidget(notice) => self.show_notice(Notice::Widget(notice)),
            Frame::SetTitle(notice) => self.show_notice(Notice::Title(notice)),
            Frame::SetEditorText(notice) => self.show_notice(Notice::EditorText(notice)),
            Frame::Failed(failed) => {
                let path = failed.extension.unwrap_or_else(|| process.name());
                let is_reported = failed.channel.is_none() || self.reports_listener_failures();
                if is_reported {
                    self.report_failure(&path, &failed.event, &failed.error);
                } else {
                    tracing::error!("{path}: {}: {}", failed.event, failed.error);
                }
            }
            Frame::Log(line) => match line.level {
                LogLevel::Error => tracing::error!("{}: {}", process.name(), line.message),
                LogLevel::Warning => tracing::warn!("{}: {}", process.name(), line.message),
                LogLevel::Debug => tracing::debug!("{}: {}", process.name(), line.message),
                _ => tracing::info!("{}: {}", process.name(), line.message),
            },
            Frame::Unknown(unknown) => {
                let error = format!("unknown frame type `{}` (protocol version 1)", unknown.tag);
                match unknown.members.get("id").and_then(|id| id.as_str()) {
                    Some(id) => reject(process, id, error),
                    None => process.stderr.warn(&process.name(), &error),
                }
            }
            // Responses and updates were handled before.
            Frame::Response(_) | Frame::ToolUpdate(_) => {}
            action => self.handle_action(process, action),
        }
    }

    fn show_notice(&self, notice: Notice) {
        if let Some(ui) = self.ui.get().filter(|_| !self.is_client_disconnected()) {
            ui.show(&notice);
        }
    }
}
