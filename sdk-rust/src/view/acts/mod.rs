//! What is done to a conversation: a function for each act that tables name.

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

/// What an act knows besides its slots.
pub(super) struct About<'a> {
    /// The dialect's table.
    pub meaning: &'static Meaning,
    /// The row's name.
    pub name: &'a str,
    /// The id of the command or the dialog.
    pub id: Option<&'a Value>,
    /// When the frame came, in milliseconds since the epoch.
    pub at: Option<f64>,
    /// The names of all slots, those without a value among them.
    pub names: Vec<&'static str>,
}

/// Does what a rule says.
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

/// A slot as text.
fn text<'s>(slots: &'s Slots, name: &str) -> Option<&'s str> {
    slots.get(name)?.as_str()
}

/// A slot as a record of the conversation; nothing where it does not look like one.
fn record<T: DeserializeOwned>(slots: &mut Slots, name: &str) -> Option<T> {
    serde_json::from_value(slots.remove(name)?).ok()
}

/// The message of the slot of that name.
fn message(slots: &mut Slots) -> Option<Message> {
    slots.get("message").and_then(message_of)
}

/// A message as a reader gives it, without those members that are of another type than they should be.
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

/// An id as it is compared.
pub(super) fn id_text(id: Option<&Value>) -> String {
    id.map(Value::to_string).unwrap_or_default()
}
