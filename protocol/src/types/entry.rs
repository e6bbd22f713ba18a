//! The entries of a session's file, as commands give them.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Nullable, Opt, Str};
use crate::types::content::InputContent;
use crate::types::message::{AgentMessage, SystemMessage, Usage};
use crate::types::model::ThinkingLevel;

protocol! {
    /// A message of the conversation.
    record MessageEntry(type = "message") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The message.
        message: AgentMessage,
    }

    /// Another model was chosen.
    record ModelChangeEntry(type = "model_change") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The provider.
        provider: Str,
        /// The model's id at that provider.
        modelId: Str,
    }

    /// Another thinking level was chosen.
    record ThinkingLevelChangeEntry(type = "thinking_level_change") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The level.
        thinkingLevel: ThinkingLevel,
    }

    /// Tokens that were used for something that is no answer.
    record UsageEntry(type = "usage") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// What for.
        kind: Str,
        /// The provider.
        provider: Str,
        /// The model.
        model: Str,
        /// The tokens.
        usage: Usage,
    }

    /// The conversation was compacted.
    record CompactionEntry(type = "compaction") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The text that stands in place of what was removed.
        summary: Str,
        /// The first entry that stays as it is.
        firstKeptEntryId: Str,
        /// Tokens in the context before.
        tokensBefore: Count,
        /// Facts for a front end, such as the files that were read and changed.
        details: Opt<Any>,
        /// Tokens that the summary took.
        usage: Opt<Usage>,
        /// Whether an extension wrote the summary.
        fromHook: Opt<Bool>,
        /// The prompt and the tools as they stood then.
        systemMessage: Opt<SystemMessage>,
    }

    /// Other words in place of those of a message.
    record ContextReplacement {
        /// The words.
        content: InputContent,
    }

    /// What the model gets to see of an earlier entry was changed.
    record ContextEditEntry(type = "context_edit") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// That entry.
        targetId: Str,
        /// What it sees in its place; null where it sees nothing.
        replacement: Nullable<ContextReplacement>,
    }

    /// A branch was left, and this is what was said on it.
    record BranchSummaryEntry(type = "branch_summary") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The entry from which it was left; null where there was none.
        fromId: Nullable<Str>,
        /// The summary.
        summary: Str,
        /// Facts for a front end.
        details: Opt<Any>,
        /// Tokens that the summary took.
        usage: Opt<Usage>,
        /// Whether an extension wrote the summary.
        fromHook: Opt<Bool>,
    }

    /// Something that an extension keeps; no model sees it.
    record CustomEntry(type = "custom") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The extension's name for it.
        customType: Str,
        /// What it keeps.
        data: Opt<Any>,
    }

    /// A message that an extension put in.
    record CustomMessageEntry(type = "custom_message") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The extension's name for it.
        customType: Str,
        /// Text, or blocks.
        content: InputContent,
        /// Whether a front end should show it.
        display: Bool,
        /// Facts for a front end.
        details: Opt<Any>,
    }

    /// An entry was marked with a word.
    record LabelEntry(type = "label") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// That entry.
        targetId: Str,
        /// The word; absent where the mark was taken away.
        label: Opt<Str>,
    }

    /// The session was named.
    record SessionInfoEntry(type = "session_info") {
        /// The entry's id.
        id: Str,
        /// The entry that it follows; null where it is a root.
        parentId: Nullable<Str>,
        /// When, as ISO 8601.
        timestamp: Str,
        /// The name.
        name: Opt<Str>,
    }

    /// An entry of a session, told apart by `type`.
    union SessionEntry(type, open) {
        MessageEntry, ModelChangeEntry, ThinkingLevelChangeEntry, UsageEntry, CompactionEntry, ContextEditEntry,
        BranchSummaryEntry, CustomEntry, CustomMessageEntry, LabelEntry, SessionInfoEntry
    }

    /// Entries of a session.
    record Entries {
        /// In the order in which they were written.
        entries: List<SessionEntry>,
        /// The entry that the next one will follow; null in an empty session.
        leafId: Nullable<Str>,
    }

    /// An entry and what follows it.
    record TreeNode {
        /// The entry.
        entry: SessionEntry,
        /// What follows it, one node for each branch.
        children: List<TreeNode>,
        /// The word that it is marked with.
        label: Opt<Str>,
        /// When it was marked, as ISO 8601.
        labelTimestamp: Opt<Str>,
    }

    /// The whole session.
    record SessionTree {
        /// The entries that follow none.
        tree: List<TreeNode>,
        /// The entry that the next one will follow; null in an empty session.
        leafId: Nullable<Str>,
    }
}
