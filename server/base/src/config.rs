//! The configuration of a user: locations, settings, trust.
//!
//! | file | concept |
//! |---|---|
//! | `agent_dir` | the directory with a user's settings, sessions and programs |
//! | `settings`, `task_settings`, `setting` | the settings, with defaults; forms of their values |
//! | `read_settings`, `config_warning` | conversion of settings files to settings, and problems of these files |
//! | `trust` | trust in a working directory |
//! | `settings_store` | saving of changes, if enabled |
//! | `user_file` | a settings file that clients read and write as a whole |
//! | `file_lock` | one writer of a file at a time, including other programs |
//! | `jsonc`, `yaml` | JSON with comments; YAML |
//! | `text_file` | bounded reading of small files of users |

mod agent_dir;
mod config_warning;
mod file_lock;
mod jsonc;
mod read_settings;
mod setting;
mod settings;
mod settings_store;
mod task_settings;
mod text_file;
mod trust;
mod user_file;
pub mod yaml;

pub use agent_dir::{AgentPaths, Environment, Login, ResourceFolders, agent_dir, expand_home, resolve};
pub use config_warning::ConfigWarning;
pub use file_lock::{FileLock, LockError};
pub use jsonc::{JsoncError, from_jsonc};
pub use read_settings::{LoadedSettings, load_settings};
pub use settings::{
    ApprovalSettings, BranchSummarySettings, CompactionSettings, ImageSettings, NetworkSettings, ProxyUrl,
    RetrySettings, RuleContext, RuleInterrupt, RuleRepeat, RuleSettings, RunLimits, Settings,
    ThinkingBudgets, TimeLimit, TodoSettings,
};
pub use settings_store::{
    NullSettingsStore, SettingsChange, SettingsFile, SettingsFileError, SettingsStore, write_settings,
};
pub use task_settings::{BudgetLimits, IsolationMode, MergeMode, TaskSettings, VerificationSettings};
#[doc(hidden)]
pub use text_file::read_regular;
pub use text_file::{TextFile, TextFileError, read_text};
pub use trust::Trust;
pub use user_file::UserFile;
