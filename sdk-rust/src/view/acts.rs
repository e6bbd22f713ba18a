//! Changes to a conversation: a function for each act of the tables.

mod history;
mod messages;
mod panels;
mod run;

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::conversation::Conversation;
use super::meaning::{Act, Meaning};
use super::message::Message;

pub(super) use panels::{answered, expired, notify};
pub(super) use run::close;

/// The values of an act.
pub(super) type Slots = Map<String, Value>;

/// Context of an act besides its slots.
pub(super) struct About<'a> {
    /// The dialect's table.
    pub meaning: &'static Meaning,
    /// The row's name.
    pub name: &'a str,
    /// The id of the command or the dialog.
    pub id: Option<&'a Value>,
    /// Arrival of the frame, in milliseconds since the epoch.
    pub at: Option<f64>,
    /// The names of all slots, including slots without a value.
    pub names: Vec<&'static str>,
}

/// Applies an act to the conversation.
pub(super) fn apply(act: Act, conversation: &mut Conversation, slots: Slots, about: &About<'_>) {
    match act {
        Act::Work => run::work(conversation, &slots),
        Act::Outcome => run::outcome(conversation, &slots),
        Act::Abort => run::abort(conversation, &slots),
        Act::Compacting => run::compacting(conversation, &slots),
        Act::Compacted => run::compacted(conversation, slots, about),
        Act::Retry => run::retry(conversation, slots, about),
        Act::Retried => run::retried(conversation, &slots),
        Act::Shell => run::shell(conversation, &slots, about),
        Act::ShellOutput => run::shell_output(conversation, &slots),
        Act::ShellDone => run::shell_done(conversation, slots, about),
        Act::Begin => messages::begin(conversation, slots),
        Act::Snapshot => messages::snapshot(conversation, slots),
        Act::Piece => messages::piece(conversation, slots),
        Act::Block => messages::block(conversation, slots),
        Act::Message => messages::change_message(conversation, slots),
        Act::End => messages::end(conversation, slots),
        Act::Tool => messages::tool(conversation, slots),
        Act::Arrive => messages::arrive(conversation, about),
        Act::History => history::history(conversation, &slots),
        Act::Count => history::count(conversation, &slots),
        Act::Replace => history::replace(conversation, &slots),
        Act::Set => panels::set(conversation, &slots, about),
        Act::Keep => panels::keep(conversation, &slots),
        Act::Usage => panels::usage(conversation, slots),
        Act::Wait => panels::wait(conversation, &slots, about),
        Act::Waited => panels::waited(conversation, &slots, about),
        Act::Queue => panels::queue(conversation, &slots),
        Act::Ask => panels::ask(conversation, slots, about),
        Act::Withdraw => answered(conversation, slots.get("id")),
        Act::Notice => panels::notice(conversation, &slots, about),
        Act::Entry => panels::entry(conversation, slots),
        Act::Draft => panels::draft(conversation, &slots),
        Act::Task => panels::task(conversation, slots),
        Act::Child => panels::child(conversation, slots, about),
    }
}

/// Returns a slot as text.
fn text<'s>(slots: &'s Slots, name: &str) -> Option<&'s str> {
    slots.get(name)?.as_str()
}

/// Returns a slot as a record of the conversation; `None` if it has another shape.
fn record<T: DeserializeOwned>(slots: &mut Slots, name: &str) -> Option<T> {
    serde_json::from_value(slots.remove(name)?).ok()
}

/// Returns the message in the slot `message`.
fn message(slots: &mut Slots) -> Option<Message> {
    slots.get("message").and_then(message_of)
}

/// Converts the output of a reader into a message, without members of a wrong type.
fn message_of(value: &Value) -> Option<Message> {
    let members = value.as_object()?;
    let fits = |name: &String, member: &Value| {
        let alone = Map::from_iter([(name.clone(), member.clone())]);
        Message::deserialize(&Value::Object(alone)).is_ok()
    };
    Message::deserialize(value).ok().or_else(|| {
        let fitting = members.iter().filter(|(name, member)| fits(name, member));
        let fitting = fitting.map(|(name, member)| (name.clone(), member.clone())).collect();
        Message::deserialize(&Value::Object(fitting)).ok()
    })
}

/// Returns an id in comparable form.
pub(super) fn id_text(id: Option<&Value>) -> String {
    id.map(Value::to_string).unwrap_or_default()
}
