//! Rules for each kind of change: compatibility with a client of the older revision, and effect on it.

/// Compatibility of a change (`true` if the client keeps working), and the effect on the client.
pub(super) type Rule = (bool, &'static str);

pub(super) const COMMAND_ADDED: Rule = (true, "it never sends it");
pub(super) const COMMAND_REMOVED: Rule = (false, "the call is refused as an unknown command");
pub(super) const RESULT_ADDED: Rule = (true, "it does not read data there");
pub(super) const RESULT_REMOVED: Rule = (false, "the data that it reads is missing");
pub(super) const TYPE_CHANGED: Rule = (false, "the value has another type");
pub(super) const MAY_BE_NULL: Rule = (false, "it does not expect null");
pub(super) const NEVER_NULL: Rule = (true, "null does not come any more");
pub(super) const NULL_TAKEN: Rule = (true, "null is taken too");
pub(super) const NULL_REFUSED: Rule = (false, "null is not taken any more");
pub(super) const EVENT_ADDED: Rule = (true, "it keeps events that it does not know");
pub(super) const EVENT_ADDED_CLOSED: Rule = (false, "the events of the dialect are a closed set");
pub(super) const EVENT_REMOVED: Rule = (false, "it waits for an event that never comes");
pub(super) const END_LOST: Rule = (false, "the end of the run is told in another way");
pub(super) const RUN_CHANGED: Rule = (true, "the end that it waits for still comes");
pub(super) const QUESTION_ADDED: Rule = (false, "it does not answer a question that it does not know");
pub(super) const NOTICE_ADDED: Rule = (true, "nothing waits for an answer");
pub(super) const DIALOG_REMOVED: Rule = (true, "it is not asked any more");
pub(super) const ANSWER_CHANGED: Rule = (false, "its answer has the wrong type");
pub(super) const FAILURE_ADDED: Rule = (true, "it is one more failure with a text");
pub(super) const FAILURE_REMOVED: Rule = (true, "it does not come any more");
pub(super) const EDGE_MATTERS: Rule = (false, "failures and answers are put together differently");
pub(super) const EDGE_HARMLESS: Rule = (true, "a client that keeps to the document does not notice");
pub(super) const EDGE_TEXT: Rule = (true, "only the text of a failure differs");
pub(super) const EDGE_LENGTH: Rule = (false, "a command that was short enough before may be too long");
pub(super) const EDGE_END_OF_INPUT: Rule =
    (false, "what happens to running work when it closes stdin is different");

pub(super) const BEHAVIOR: Rule = (true, "the frames are those that it knows");

/// Rules for what agents send.
pub(super) mod received {
    use super::Rule;

    pub(in super::super) const ADDED: Rule = (true, "it keeps members that it does not know");
    pub(in super::super) const REMOVED: Rule = (false, "a member that it reads is missing");
    pub(in super::super) const OPTIONAL_REMOVED: Rule = (true, "it could be left out before");
    pub(in super::super) const MADE_OPTIONAL: Rule = (false, "a member that it reads may be missing");
    pub(in super::super) const MADE_REQUIRED: Rule = (true, "the member is always there");
    pub(in super::super) const OPEN_ADDED: Rule = (true, "it keeps what it does not know of an open set");
    pub(in super::super) const CLOSED_ADDED: Rule = (false, "the set was closed");
    pub(in super::super) const LISTED_REMOVED: Rule = (true, "it does not come any more");
}

/// Rules for what clients send.
pub(super) mod sent {
    use super::Rule;

    pub(in super::super) const ADDED: Rule = (true, "it may be left out");
    pub(in super::super) const REQUIRED_ADDED: Rule = (false, "it does not send it, and is refused");
    pub(in super::super) const REMOVED: Rule = (false, "the agent takes no notice of it");
    pub(in super::super) const MADE_OPTIONAL: Rule = (true, "it still sends it");
    pub(in super::super) const MADE_REQUIRED: Rule = (false, "it may leave it out, and is refused");
    pub(in super::super) const LISTED_ADDED: Rule = (true, "it never sends it");
    pub(in super::super) const LISTED_REMOVED: Rule = (false, "it may send it, and is refused");
}
