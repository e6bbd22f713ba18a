//! The dialects of the family.

use agentese::spec::{Dialect, Spec};
use agentese::types::{
    ConfirmDialog, EditorDialog, InputDialog, NotifyNotice, SelectDialog, SetEditorTextNotice,
    SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};

use crate::config::AgentPaths;
use crate::conversation::AgentComponents;
use crate::engine::BehaviorProfile;

/// A dialect that has the dialogs of pi.
pub trait PiCommon:
    Dialect<
    Dialog: From<SelectDialog>
                + From<ConfirmDialog>
                + From<InputDialog>
                + From<EditorDialog>
                + From<NotifyNotice>
                + From<SetStatusNotice>
                + From<SetWidgetNotice>
                + From<SetTitleNotice>
                + From<SetEditorTextNotice>,
>
{
    /// Returns the behaviour of the dialect's agent in that revision.
    fn behavior_profile(spec: &'static Spec) -> BehaviorProfile;

    /// The location of the settings and models of the dialect's users.
    const PATHS: AgentPaths;

    /// Adds the features that only the dialect's agent has.
    fn configure(components: &mut AgentComponents) {
        let _ = components;
    }

    /// Returns the notice that withdraws the editor with that id. Returns `None` if the dialect has no such
    /// notice.
    fn withdrawal_notice(id: &str) -> Option<Self::Dialog> {
        let _ = id;
        None
    }
}
