//! Frames that a process sends by itself, and their handling.

use std::sync::{Arc, Weak};

use agentese::types::{ExtensionFrame, LogLevel};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::host::Host;
use super::process::{End, Listener, Process};
use super::response::refuse;
use crate::ui::{Dialog, Notice};

/// The listener of a process for the host.
pub(super) struct Ears(pub Weak<Host>);

impl Listener for Ears {
    fn room(&self) -> BoxFuture<'_, ()> {
        async {
            let ui = self.0.upgrade().and_then(|host| host.ui.get().cloned());
            if let Some(ui) = ui {
                ui.room().await;
            }
        }
        .boxed()
    }

    fn frame(&self, process: &Arc<Process>, frame: ExtensionFrame) {
        if let Some(host) = self.0.upgrade() {
            host.heard(process, frame);
        }
    }

    fn late(&self, process: &Arc<Process>) {
        if let Some(host) = self.0.upgrade() {
            host.speaks_again(process);
        }
    }

    fn ended(&self, process: &Arc<Process>, end: Option<End>) {
        if let Some(host) = self.0.upgrade() {
            host.buried(process, end);
        }
    }
}

impl Host {
    fn heard(&self, process: &Arc<Process>, frame: ExtensionFrame) {
        use ExtensionFrame as Frame;
        match frame {
            Frame::Select(dialog) => self.open(process, Dialog::Select(dialog, Vec::new())),
            Frame::Confirm(dialog) => self.open(process, Dialog::Confirm(dialog)),
            Frame::Input(dialog) => self.open(process, Dialog::Input(dialog)),
            Frame::Editor(dialog) => self.open(process, Dialog::Editor(dialog)),
            Frame::Withdraw(withdraw) => self.withdraw(process, &withdraw.question),
            Frame::Notify(notice) => self.show(Notice::Notice(notice)),
            Frame::SetStatus(notice) => self.show(Notice::Status(notice)),
            Frame::SetWidget(notice) => self.show(Notice::Widget(notice)),
            Frame::SetTitle(notice) => self.show(Notice::Title(notice)),
            Frame::SetEditorText(notice) => self.show(Notice::EditorText(notice)),
            Frame::Failed(failed) => {
                let path = failed.extension.unwrap_or_else(|| process.name());
                let is_reported = failed.channel.is_none() || self.reports_listener_failures();
                if is_reported {
                    self.fail(&path, &failed.event, &failed.error);
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
                    Some(id) => refuse(process, id, error),
                    None => process.noise.complain(&process.name(), &error),
                }
            }
            // Responses and updates were handled before.
            Frame::Response(_) | Frame::ToolUpdate(_) => {}
            action => self.act(process, action),
        }
    }

    fn show(&self, notice: Notice) {
        if let Some(ui) = self.ui.get().filter(|_| !self.is_deserted()) {
            ui.show(&notice);
        }
    }
}
