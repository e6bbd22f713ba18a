//! The entries of a session file, as returned by commands.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Nullable, Opt, Str};
use crate::types::content::InputContent;
use crate::types::message::{AgentMessage, SystemMessage, Usage};
use crate::types::model::ThinkingLevel;

protocol! {
    /// A message of the conversation.
    record MessageEntry(type = "message") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Message of the conversation.
        message: AgentMessage,
    }

    /// A change of the model.
    record ModelChangeEntry(type = "model_change") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Name of the provider.
        provider: Str,
        /// Id of the model at that provider.
        modelId: Str,
    }

    /// A change of the thinking level.
    record ThinkingLevelChangeEntry(type = "thinking_level_change") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// New thinking level.
        thinkingLevel: ThinkingLevel,
    }

    /// Tokens used for a purpose other than an answer.
    record UsageEntry(type = "usage") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Purpose of the request.
        kind: Str,
        /// Name of the provider.
        provider: Str,
        /// Id of the model.
        model: Str,
        /// Tokens and costs of the request.
        usage: Usage,
    }

    /// A compaction of the conversation.
    record CompactionEntry(type = "compaction") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// The summary that replaces the removed messages.
        summary: Str,
        /// Id of the first entry that stays unchanged.
        firstKeptEntryId: Str,
        /// Number of tokens in the context before the compaction.
        tokensBefore: Count,
        /// Details for a client, such as the files that were read and changed.
        details: Opt<Any>,
        /// Tokens used for the summary.
        usage: Opt<Usage>,
        /// `true` if an extension wrote the summary.
        fromHook: Opt<Bool>,
        /// The system prompt and the tools at that time.
        systemMessage: Opt<SystemMessage>,
    }

    /// Content that replaces the content of a message.
    record ContextReplacement {
        /// Content that the model receives instead.
        content: InputContent,
    }

    /// A change to the content of an earlier entry, as the model receives it.
    record ContextEditEntry(type = "context_edit") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Id of the changed entry.
        targetId: Str,
        /// Content that the model receives instead; null if it receives no content.
        replacement: Nullable<ContextReplacement>,
    }

    /// A summary of a branch that the user left.
    record BranchSummaryEntry(type = "branch_summary") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Id of the entry at which the user left the branch; null if there was no such entry.
        fromId: Nullable<Str>,
        /// Text of the summary.
        summary: Str,
        /// Details for a client.
        details: Opt<Any>,
        /// Tokens used for the summary.
        usage: Opt<Usage>,
        /// `true` if an extension wrote the summary.
        fromHook: Opt<Bool>,
    }

    /// Data of an extension; the model does not receive it.
    record CustomEntry(type = "custom") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Kind of the data, named by the extension.
        customType: Str,
        /// Data of the extension.
        data: Opt<Any>,
    }

    /// A message that an extension added.
    record CustomMessageEntry(type = "custom_message") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Kind of the message, named by the extension.
        customType: Str,
        /// Content of the message: text or blocks.
        content: InputContent,
        /// `true` if a client should show the message.
        display: Bool,
        /// Details for a client.
        details: Opt<Any>,
    }

    /// A label of another entry.
    record LabelEntry(type = "label") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// Id of the labelled entry.
        targetId: Str,
        /// The label; absent if it was removed.
        label: Opt<Str>,
    }

    /// A new name of the session.
    record SessionInfoEntry(type = "session_info") {
        /// Id of the entry.
        id: Str,
        /// Id of the parent entry; null for a root.
        parentId: Nullable<Str>,
        /// Time of the entry, in ISO 8601.
        timestamp: Str,
        /// New name of the session.
        name: Opt<Str>,
    }

    /// An entry of a session; `type` determines the variant.
    union SessionEntry(type, open) {
        MessageEntry, ModelChangeEntry, ThinkingLevelChangeEntry, UsageEntry, CompactionEntry, ContextEditEntry,
        BranchSummaryEntry, CustomEntry, CustomMessageEntry, LabelEntry, SessionInfoEntry
    }

    /// Entries of a session.
    record Entries {
        /// The entries in the order of their writing.
        entries: List<SessionEntry>,
        /// Id of the current entry, the parent of the next one; null in an empty session.
        leafId: Nullable<Str>,
    }

    /// An entry with its children in the tree of a session.
    record TreeNode {
        /// The entry of this node.
        entry: SessionEntry,
        /// The children of the entry, one node for each branch.
        children: List<TreeNode>,
        /// Label of the entry.
        label: Opt<Str>,
        /// Time of the label, in ISO 8601.
        labelTimestamp: Opt<Str>,
    }

    /// The entries of a session as a tree.
    record SessionTree {
        /// The root entries with their children.
        tree: List<TreeNode>,
        /// Id of the current entry, the parent of the next one; null in an empty session.
        leafId: Nullable<Str>,
    }
}
