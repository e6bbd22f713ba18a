//! Reducers: one function for each kind of change that the tables can apply to a conversation.

pub(super) mod history;
pub(super) mod messages;
pub(super) mod panels;
pub(super) mod run;
pub(super) mod slots;

pub(super) use run::close;
