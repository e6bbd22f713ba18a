//! Tests of exported pages from outside: content that must occur, content that must not occur, and display in a
//! browser.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "export/browser.rs"]
mod browser;
#[path = "export/content.rs"]
mod content;
#[path = "export/hostile.rs"]
mod hostile;
#[path = "export/size.rs"]
mod size;
#[path = "support/skip.rs"]
mod skip;
#[path = "export/support.rs"]
mod support;
