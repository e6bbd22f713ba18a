//! The exported page from outside: what is on it, what must not be, and what a browser makes of it.
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
