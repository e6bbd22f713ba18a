//! The trait for the dialects of the pi family.

use agentese::spec::{Dialect, Spec};
use agentese::types::{
    ConfirmDialog, EditorDialog, InputDialog, NotifyNotice, SelectDialog, SetEditorTextNotice,
    SetStatusNotice, SetTitleNotice, SetWidgetNotice,
};

use crate::config::AgentPaths;
use crate::conversation::AgentComponents;
use crate::engine::BehaviorProfile;

/// A dialect of the pi family, with the dialogs of pi.
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
    /// Returns the behaviour of the dialect's agent in the revision `spec`.
    fn behavior_profile(spec: &'static Spec) -> BehaviorProfile;

    /// The directories with the settings and models of the agent's users.
    const PATHS: AgentPaths;

    /// Adds the features that only the agent of this dialect has.
    fn configure(components: &mut AgentComponents) {
        let _ = components;
    }

    /// Returns the notice that withdraws the editor dialog with the id `id`. Returns `None` if the dialect has no
    /// such notice.
    fn withdrawal_notice(id: &str) -> Option<Self::Dialog> {
        let _ = id;
        None
    }
}
