//! The position in a conversation from which a compaction keeps the entries.

use agentese::types::AgentMessage;

use super::branch_entry::{BranchEntry, EntryKind};
use super::token_estimate::message_tokens;
use crate::session::Role;

/// A position between two entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutPoint {
    /// Index of the first entry that is kept.
    pub first_kept: usize,
    /// Index of the first entry of the turn that the cut divides; `None` if the cut is between two turns.
    pub split_turn: Option<usize>,
}

/// Amount of newest messages that a compaction keeps, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum KeptAmount {
    /// At least that many tokens. The message that reaches the number is kept, too.
    AtLeast(u64),
    /// At most that many tokens. The last message is kept in any case.
    AtMost(u64),
}

/// Finds the cut among the entries from `start` on. The newest entries are kept, as many as `keep` defines. A cut
/// precedes a message of the user, an answer, or a note. It never precedes a tool result, so that a call keeps its
/// result.
pub(super) fn find(items: &[BranchEntry], start: usize, keep: KeptAmount) -> CutPoint {
    let mut positions = (start..items.len()).filter(|index| is_cut_position(&items[*index].kind));
    let Some(first) = positions.clone().next() else {
        return CutPoint { first_kept: start, split_turn: None };
    };
    let mut tokens = 0;
    let mut cut = first;
    for index in (start..items.len()).rev() {
        let EntryKind::Message(message) = &items[index].kind else { continue };
        tokens += message.read().map_or(0, |message| message_tokens(&message));
        let from = match keep {
            KeptAmount::AtLeast(least) if tokens >= least => index,
            KeptAmount::AtMost(most) if tokens > most => index + 1,
            _ => continue,
        };
        let fits = (from..items.len()).find(|index| is_cut_position(&items[*index].kind));
        // If nothing fits, the last position applies.
        let last = || positions.next_back().filter(|_| matches!(keep, KeptAmount::AtMost(_)));
        cut = fits.or_else(last).unwrap_or(first);
        break;
    }
    let turn = if starts_request(&items[cut].kind) {
        None
    } else {
        (start..=cut).rev().find(|index| starts_turn(&items[*index].kind))
    };
    // Settings directly before the cut belong to the entries after it.
    let settings =
        items[start..cut].iter().rev().take_while(|item| matches!(item.kind, EntryKind::Other)).count();
    CutPoint { first_kept: cut - settings, split_turn: turn.filter(|turn| *turn < cut) }
}

fn is_cut_position(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::Message(message) => match message.role() {
            Role::Other => !matches!(
                message.read().as_deref(),
                None | Some(AgentMessage::ToolResult(_) | AgentMessage::Unknown(_))
            ),
            _ => true,
        },
        EntryKind::Note(_) => true,
        EntryKind::Compaction(_) | EntryKind::Other => false,
    }
}

fn starts_request(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Message(message) if message.role() == Role::User)
}

fn starts_turn(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::Message(message) => match message.role() {
            Role::User => true,
            Role::Other => matches!(message.read().as_deref(), Some(AgentMessage::BashExecution(_))),
            _ => false,
        },
        EntryKind::Note(_) => true,
        EntryKind::Compaction(_) | EntryKind::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::items;
    use super::*;

    /// Each letter is an entry: `u` user, `a` answer, `r` result, `b` bash, `n` note, `-` a setting. Each message is
    /// ten tokens long.
    #[track_caller]
    fn check(entries: &str, keep: u64, kept: usize, turn: Option<usize>) {
        assert_eq!(
            find(&items(entries), 0, KeptAmount::AtLeast(keep)),
            CutPoint { first_kept: kept, split_turn: turn },
            "{entries} {keep}"
        );
    }

    #[test]
    fn the_newest_messages_are_kept() {
        check("uauaua", 20, 4, None);
        check("uauaua", 11, 4, None);
        check("uauaua", 10, 5, Some(4));
        check("uauaua", 30, 3, Some(2));
        check("uaua", 1000, 0, None);
        check("", 10, 0, None);
        check("--", 10, 0, None);
    }

    #[test]
    fn a_result_stays_with_its_call() {
        check("uarara", 10, 5, Some(0));
        // The budget ends at a result: the cut moves to the next valid position.
        check("uarara", 20, 5, Some(0));
        check("uarara", 30, 3, Some(0));
        // Without a position after the result, the first one applies.
        check("uar", 5, 0, None);
    }

    #[test]
    fn settings_and_notes_before_the_cut_go_with_it() {
        check("ua-u-a", 20, 2, None);
        check("--uaua", 20, 4, None);
        check("--ua", 1000, 0, None);
        check("uana", 10, 3, Some(2));
        check("uaba", 10, 3, Some(2));
        check("aa", 10, 1, None);
    }
}
