//! The published schemas against what real agents sent.

mod accept;
mod exceptions;
mod refuse;
mod sites;
mod validators;
