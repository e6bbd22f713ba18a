//! Changes to a conversation: a function for each reducer of the tables.

pub(super) mod history;
pub(super) mod messages;
pub(super) mod panels;
pub(super) mod run;
pub(super) mod slots;

pub(super) use run::close;
