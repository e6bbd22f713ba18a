//! How records of a conversation are declared.

/// Declares a record of the conversation: members that have no value are left out of its JSON.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $member:ident: $ty:ty,)* } $({ $($(#[$odoc:meta])* $optional:ident: $oty:ty,)* })?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* #[serde(default)] pub $member: $ty,)*
            $($($(#[$odoc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $optional: Option<$oty>,)*)?
        }
    };
}

pub(super) use record;
