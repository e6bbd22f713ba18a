//! Judging, runs, reports.

mod goldens;
