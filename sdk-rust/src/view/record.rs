//! Declaration of the records of a conversation.

/// Declares a record of the conversation. Members without a value are omitted from the JSON form.
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
