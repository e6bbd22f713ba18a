//! Types of values, as annotations and as kinds of the native core.

use agentese_protocol::model::{Presence, Ty};

/// Returns the kind in the notation of the native core.
pub fn kind(ty: &Ty) -> String {
    match ty {
        Ty::String => "str".to_owned(),
        Ty::Boolean => "bool".to_owned(),
        Ty::Integer | Ty::Count => "int".to_owned(),
        Ty::Number => "number".to_owned(),
        Ty::Any => "any".to_owned(),
        Ty::Object => "object".to_owned(),
        Ty::List(item) => format!("[{}]", kind(item)),
        Ty::Map(value) => format!("{{{}}}", kind(value)),
        Ty::Named(name) => (*name).to_owned(),
    }
}

/// Returns the annotation of a received value. `prefix` is put before the names of declared types.
pub fn read(ty: &Ty, prefix: &str) -> String {
    match ty {
        Ty::String => "str".to_owned(),
        Ty::Boolean => "bool".to_owned(),
        Ty::Integer | Ty::Count => "int".to_owned(),
        Ty::Number => "float".to_owned(),
        Ty::Any => "JsonValue".to_owned(),
        Ty::Object => "JsonObject".to_owned(),
        Ty::List(item) => format!("list[{}]", read(item, prefix)),
        Ty::Map(value) => format!("dict[str, {}]", read(value, prefix)),
        Ty::Named(name) => format!("{prefix}{name}"),
    }
}

/// Returns the annotation of a value that a caller passes. `prefix` is put before the names of declared types.
pub fn given(ty: &Ty, prefix: &str) -> String {
    match ty {
        Ty::String => "str".to_owned(),
        Ty::Boolean => "bool".to_owned(),
        Ty::Integer | Ty::Count => "int".to_owned(),
        Ty::Number => "float".to_owned(),
        Ty::Any => "JsonValue".to_owned(),
        Ty::Object => "Mapping[str, JsonValue]".to_owned(),
        Ty::List(item) => format!("Sequence[{}]", given(item, prefix)),
        Ty::Map(value) => format!("Mapping[str, {}]", given(value, prefix)),
        Ty::Named(name) => format!("{prefix}{name}"),
    }
}

/// Returns the annotation of a value that a caller passes either as a shape or as a record.
pub fn either(ty: &Ty) -> String {
    match ty {
        Ty::Named(name) => format!("shapes.{name} | {name}"),
        Ty::List(Ty::Named(name)) => format!("Sequence[shapes.{name} | {name}]"),
        _ => given(ty, "shapes."),
    }
}

/// Returns the annotation of an attribute: optional and nullable values are `None`.
pub fn attribute(ty: &Ty, presence: Presence, prefix: &str) -> String {
    let ty_text = read(ty, prefix);
    match (presence, ty) {
        (Presence::Required, _) | (_, Ty::Any) => ty_text,
        _ => format!("{ty_text} | None"),
    }
}
