//! The frames that identify the dialect of an agent.

use std::fmt::Write as _;

use agentese_protocol::dialect::Framing;
use agentese_protocol::{BRIDGED, Index};

use super::banner;

/// The frames by which a client of another framing recognises an agent of this dialect.
pub struct DialectVocabulary {
    /// Name of the dialect.
    pub name: &'static str,
    /// The method of the notifications that carry events, in JSON-RPC.
    pub notification: Option<&'static str>,
    /// The types of the events. Empty in JSON-RPC, in which notifications carry the events.
    pub events: Vec<&'static str>,
    /// The types of question frames; in JSON-RPC, the methods of questions.
    pub questions: Vec<&'static str>,
}

impl DialectVocabulary {
    /// Returns the frames of one dialect. Returns `None` for a protocol whose frames are not lines, such as
    /// AG-UI.
    pub fn of(index: &Index) -> Option<Self> {
        let own = index.dialogs.iter().filter_map(|dialog| Some(dialog.frames?.request));
        Some(match index.framing() {
            Framing::JsonRpc { notification } => DialectVocabulary {
                name: index.dialect.name,
                notification: Some(notification),
                events: Vec::new(),
                questions: (index.dialogs.iter().map(|dialog| dialog.wire))
                    .filter(|method| *method != notification)
                    .collect(),
            },
            // AG-UI frames use HTTP.
            _ if index.dialog_frames().is_none() => return None,
            _ => DialectVocabulary {
                name: index.dialect.name,
                notification: None,
                events: index.events.iter().map(|event| event.name).collect(),
                questions: index
                    .dialog_frames()
                    .map(|frames| frames.request)
                    .into_iter()
                    .chain(own)
                    .collect(),
            },
        })
    }
}

pub fn file(indexes: &[&Index]) -> String {
    let mut out = banner("The frames that identify the dialect of an agent.");
    out.push_str("use crate::bridged::BridgedProtocol;\nuse crate::recognition::DialectVocabulary;\n\n/// One row for each dialect.\npub const DIALECTS: &[DialectVocabulary] = &[\n");
    for DialectVocabulary { name, notification, events, questions } in
        indexes.iter().filter_map(|index| DialectVocabulary::of(index))
    {
        let _ = writeln!(
            out,
            "    DialectVocabulary {{ name: {name:?}, notification: {notification:?}, events: &{events:?}, questions: &{questions:?} }},"
        );
    }
    out.push_str("];\n\n/// The protocols of agents that clients drive through a bridge.\npub const BRIDGED: &[BridgedProtocol] = &[\n");
    for row in BRIDGED {
        let _ = writeln!(
            out,
            "    BridgedProtocol {{ name: {:?}, version: {}, handshake: {:?}, version_member: {:?}, front: {:?} }},",
            row.protocol.name,
            row.protocol.pinned().name,
            row.protocol.probe_command,
            row.version_member,
            row.front,
        );
    }
    out.push_str("];\n");
    out
}
