//! The macro `protocol!`, the syntax of the declarations.
//!
//! Every row has one outer form: `/// doc`, a kind, a name, an optional head in parentheses, an optional `-> Result`
//! and a body in braces. `row!` defines the body of each kind. rustc rejects an unknown name (kind, type, attribute,
//! event) at its own position.

/// Declares a list of rows and collects them in `ROWS`.
///
/// ```text
/// record NAME(tag = "value") { /// doc  member: Type, … }      an object
/// union NAME(tag, open) { RecordA, RecordB }                   identified by a constant
/// choice NAME { Arm(Type), Arm(Type) }                         identified by shape
/// strings NAME(closed) { /// doc  "value", … }                 a set of strings
/// command NAME(Params { … }) -> Data { answer: Done; … }       a request
/// event NAME(Payload { … }) { run: MayEnd; example {…}; }      a frame without a request
/// dialog NAME(Params { … }) -> Answer { example {…}; }         a question to the client
/// ```
///
/// `[since "pi@1.5"]`, `[until "pi@1.5"]` or both limit a part to some revisions. The span precedes the body of a row.
/// It follows a member, a string, a failure, the effect of an event on the run, and `snapshot`. In a command,
/// `result: […];` limits the data of its answer. `later: EFFECT [since "…"];` is the effect of an event on the run in
/// other revisions, or the time of a command's answer in them. `text: Str as message since "…"` is a member with
/// another name in other revisions. `frame: "question" => "answer" after "update"(Type);` gives a dialog frames of its
/// own, the last one for frames before the answer. A member may be declared again for other revisions if only its
/// presence differs.
macro_rules! protocol {
    ($(
        $(#[doc = $doc:literal])*
        $kind:ident $name:ident $( ( $($head:tt)* ) )? $( -> $result:ty )? $( [ $($span:tt)* ] )? { $($body:tt)* }
    )*) => {
        $( $crate::dsl::row! {
            $kind $name [concat!("" $(, $doc, "\n")*)] [$crate::dsl::span!($( $($span)* )?)]
            [$( $($head)* )?] [$($result)?] $($body)*
        } )*

        /// The rows of this file.
        pub const ROWS: &[$crate::model::Row] = &[ $( $crate::dsl::entry!($kind $name) ),* ];
        const _: () = $crate::check::rows(ROWS);
    };
}

macro_rules! entry {
    (command $name:ident) => {
        $crate::model::Row::Command(&$name::ROW)
    };
    (event $name:ident) => {
        $crate::model::Row::Event(&$name)
    };
    (dialog $name:ident) => {
        $crate::model::Row::Dialog(&$name::ROW)
    };
    ($kind:ident $name:ident) => {
        $crate::model::Row::Type(&<$name as $crate::typed::DeclaredType>::DEF)
    };
}

macro_rules! constant {
    (true) => {
        $crate::model::ConstantValue::Boolean(true)
    };
    (false) => {
        $crate::model::ConstantValue::Boolean(false)
    };
    ((event $name:ident)) => {
        $crate::model::ConstantValue::String(stringify!($name))
    };
    ($value:literal) => {
        $crate::model::ConstantValue::String($value)
    };
}

/// Builds the span of revisions that have a part.
macro_rules! span {
    (@ [$($since:literal)*] [$($until:literal)*]) => {
        $crate::model::Span { since: &[$($since),*], until: &[$($until),*] }
    };
    (@ [$($since:literal)*] [$($until:literal)*] since $revision:literal $(, $($rest:tt)*)?) => {
        $crate::dsl::span!(@ [$($since)* $revision] [$($until)*] $($($rest)*)?)
    };
    (@ [$($since:literal)*] [$($until:literal)*] until $revision:literal $(, $($rest:tt)*)?) => {
        $crate::dsl::span!(@ [$($since)*] [$($until)* $revision] $($($rest)*)?)
    };
    ($($rest:tt)*) => {
        $crate::dsl::span!(@ [] [] $($rest)*)
    };
}

macro_rules! openness {
    (open) => {
        true
    };
    (closed) => {
        false
    };
}

/// Declares a type marker with its declaration.
macro_rules! declared {
    ($name:ident [$doc:expr] [$span:expr] $shape:expr, $example:expr) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $name;
        impl $crate::typed::WireType for $name {
            const TY: $crate::model::Ty = $crate::model::Ty::Named(stringify!($name));
        }
        impl $crate::typed::Member for $name {
            const PRESENCE: $crate::model::Presence = $crate::model::Presence::Required;
            const MEMBER: $crate::model::Ty = <$name as $crate::typed::WireType>::TY;
        }
        impl $crate::typed::Data for $name {
            const DATA: Option<$crate::model::Ty> = Some(<$name as $crate::typed::WireType>::TY);
            const NULLABLE: bool = false;
        }
        impl $crate::typed::DeclaredType for $name {
            const DEF: $crate::model::TypeDef = $crate::model::TypeDef {
                name: stringify!($name),
                doc: $doc,
                shape: $shape,
                example: $example,
                span: $span,
            };
        }
        const _: () = $crate::check::type_def(&<$name as $crate::typed::DeclaredType>::DEF);
    };
}

/// Declares a record from its constants and members.
macro_rules! record {
    ($name:ident [$doc:expr] [$span:expr] [$($member:ident = $value:tt),*]
        $(
            $(#[doc = $fdoc:literal])* $field:ident : $ty:ty
            $( as $renamed:ident since $revision:literal )? $( [ $($fspan:tt)* ] )?
        ),* $(,)?
        $(; example $example:tt )? $(;)?
    ) => {
        $crate::dsl::declared! { $name [$doc] [$span]
            $crate::model::Shape::Record {
                constants: &[ $( $crate::model::Constant {
                    member: stringify!($member), value: $crate::dsl::constant!($value)
                } ),* ],
                fields: &[ $( $crate::model::Field {
                    name: stringify!($field),
                    doc: concat!("" $(, $fdoc, "\n")*),
                    presence: <$ty as $crate::typed::Member>::PRESENCE,
                    ty: <$ty as $crate::typed::Member>::MEMBER,
                    span: $crate::dsl::span!($( $($fspan)* )?),
                    renamed: $crate::dsl::optional!(
                        $( (stringify!($renamed), $crate::dsl::span!(since $revision)) )?),
                } ),* ],
            },
            $crate::dsl::optional!($( stringify!($example) )?)
        }
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! or_default {
    ([] $default:expr) => {
        $default
    };
    ([$value:expr] $default:expr) => {
        $value
    };
}

/// Declares the parameters of a command: none, a known record, or a record declared in place.
macro_rules! params {
    ([$doc:expr] ) => {};
    ([$doc:expr] $name:ident) => {};
    ([$doc:expr] $name:ident { $($fields:tt)* }) => {
        $crate::dsl::record! { $name [$doc] [$crate::model::Span::ALWAYS] [] $($fields)* }
    };
}
macro_rules! params_name {
    () => {
        None
    };
    ($name:ident $($rest:tt)*) => {{
        // Naming the marker makes an undeclared record a compile error.
        let _: Option<$name> = None;
        Some(stringify!($name))
    }};
}
macro_rules! params_def {
    ($name:ident { $($fields:tt)* }) => {
        Some(&<$name as $crate::typed::DeclaredType>::DEF)
    };
    ($($other:tt)*) => {
        None
    };
}

/// Defines the body of each kind of row.
macro_rules! row {
    (record $name:ident [$doc:expr] [$span:expr] [$($member:ident = $value:tt),*] [] $($body:tt)*) => {
        $crate::dsl::record! { $name [$doc] [$span] [$($member = $value),*] $($body)* }
    };
    (union $name:ident [$doc:expr] [$span:expr] [$tag:ident, $open:ident] [] $($variant:ident),* $(,)?) => {
        $crate::dsl::declared! { $name [$doc] [$span]
            $crate::model::Shape::Union {
                tag: stringify!($tag),
                open: $crate::dsl::openness!($open),
                variants: &[ $( stringify!($variant) ),* ],
            },
            None
        }
        const _: () = $crate::check::distinct(&[ $(
            $crate::check::tag_value(&<$variant as $crate::typed::DeclaredType>::DEF, stringify!($tag))
        ),* ]);
    };
    (choice $name:ident [$doc:expr] [$span:expr] [] [] $($arm:ident($ty:ty)),* $(,)?) => {
        $crate::dsl::declared! { $name [$doc] [$span]
            $crate::model::Shape::Choice { alternatives: &[ $( $crate::model::Alternative {
                name: stringify!($arm), ty: <$ty as $crate::typed::WireType>::TY
            } ),* ] },
            None
        }
    };
    (strings $name:ident [$doc:expr] [$span:expr] [$open:ident] []
        $( $(#[doc = $vdoc:literal])* $value:literal $( [ $($vspan:tt)* ] )? ),* $(,)?
    ) => {
        $crate::dsl::declared! { $name [$doc] [$span]
            $crate::model::Shape::Strings {
                open: $crate::dsl::openness!($open),
                values: &[ $( $crate::model::StringValue {
                    value: $value,
                    doc: concat!("" $(, $vdoc, "\n")*),
                    span: $crate::dsl::span!($( $($vspan)* )?),
                } ),* ],
            },
            None
        }
    };
    (command $name:ident [$doc:expr] [$span:expr] [$($params:tt)*] [$result:ty]
        $(wire: $wire:literal;)?
        $(result: [ $($rspan:tt)* ];)?
        answer: $answer:ident;
        $(later: $lanswer:ident [ $($laspan:tt)* ];)?
        $(run: $run:ident;)?
        lane: $lane:ident;
        $(timeout: $timeout:expr;)?
        $(reads: $reads:literal;)?
        $(tolerates: [$($tolerated:literal),*];)?
        $(wrong: {$($wrong:literal => $fault:ident),*};)?
        $(errors { $(
            $(($code:literal))? $failure:ident $text:literal => $when:literal $( [ $($espan:tt)* ] )?;
        )* })?
        example $example:tt $( -> $example_result:tt )?;
    ) => {
        $crate::dsl::params! { [concat!("Parameters of `", stringify!($name), "`.\n\n", $doc)] $($params)* }
        #[doc = $doc]
        #[derive(Debug)]
        #[allow(non_camel_case_types)]
        pub struct $name {}
        impl $name {
            /// The declared command.
            pub const ROW: $crate::model::Command = $crate::model::Command {
                name: stringify!($name),
                wire: $crate::dsl::or_default!([$($wire)?] stringify!($name)),
                doc: $doc,
                params: $crate::dsl::params_name!($($params)*),
                params_def: $crate::dsl::params_def!($($params)*),
                result: <$result as $crate::typed::Data>::DATA,
                result_nullable: <$result as $crate::typed::Data>::NULLABLE,
                result_span: $crate::dsl::span!($( $($rspan)* )?),
                result_optional: false,
                answer: $crate::model::Answer::$answer,
                later_answer: $crate::dsl::optional!($( (
                    $crate::model::Answer::$lanswer, $crate::dsl::span!($($laspan)*)
                ) )?),
                run: $crate::dsl::or_default!(
                    [$($crate::model::RunRole::$run)?] $crate::model::RunRole::None),
                lane: $crate::model::Lane::$lane,
                timeout: $crate::dsl::or_default!(
                    [$($timeout)?] $crate::model::Timeout::Milliseconds(30_000)),
                reads: $crate::dsl::or_default!([$($reads)?] false),
                tolerates: &[$($($tolerated),*)?],
                wrong: &[$($(($wrong, stringify!($fault))),*)?],
                errors: &[ $( $( $crate::model::ErrorText {
                    code: $crate::dsl::optional!($($code)?),
                    kind: stringify!($failure), text: $text, when: $when,
                    span: $crate::dsl::span!($( $($espan)* )?),
                } ),* )? ],
                span: $span,
                example: stringify!($example),
                example_result: $crate::dsl::optional!($( stringify!($example_result) )?),
            };
        }
    };
    (event $name:ident [$doc:expr] [$span:expr] [$payload:ident { $($fields:tt)* }] []
        $(run: $run:ident $( ($member:ident) )? $( [ $($rspan:tt)* ] )?;)?
        $(later: $later:ident $( ($lmember:ident) )? [ $($lspan:tt)* ];)?
        $(snapshot: $snapshot:literal $( [ $($sspan:tt)* ] )?;)?
        $(undocumented: $undocumented:literal;)?
        example $example:tt;
    ) => {
        $crate::dsl::record! { $payload [$doc] [$span] [type = (event $name)] $($fields)* }
        #[doc = $doc]
        #[allow(non_upper_case_globals)]
        pub const $name: $crate::model::Event = $crate::model::Event {
            name: stringify!($name),
            doc: $doc,
            payload: &<$payload as $crate::typed::DeclaredType>::DEF,
            run: $crate::dsl::or_default!(
                [$($crate::model::RunEffect::$run $( (stringify!($member)) )?)?]
                $crate::model::RunEffect::None),
            run_span: $crate::dsl::span!($( $( $($rspan)* )? )?),
            later_run: $crate::dsl::optional!($( (
                $crate::model::RunEffect::$later $( (stringify!($lmember)) )?, $crate::dsl::span!($($lspan)*)
            ) )?),
            snapshot: $crate::dsl::or_default!([$($snapshot)?] false),
            snapshot_span: $crate::dsl::span!($( $( $($sspan)* )? )?),
            undocumented: $crate::dsl::or_default!([$($undocumented)?] false),
            span: $span,
            example: stringify!($example),
        };
    };
    (dialog $name:ident [$doc:expr] [$span:expr] [$params:ident { $($fields:tt)* }] [$($answer:ty)?]
        $(wire: $wire:literal;)?
        $(frame: $frame:literal $( => $answered:literal $( after $progress:literal($shown:ident) )? )?;)?
        $(fallback $fallback:tt;)?
        $(expires: $expires:literal;)?
        $(withdraws: $withdraws:literal;)?
        $(undocumented: $undocumented:literal;)?
        example $example:tt;
    ) => {
        $crate::dsl::record! { $params [$doc] [$span] [] $($fields)* }
        #[doc = $doc]
        #[derive(Debug)]
        #[allow(non_camel_case_types)]
        pub struct $name {}
        impl $name {
            /// The declared dialog.
            pub const ROW: $crate::model::Dialog = $crate::model::Dialog {
                name: stringify!($name),
                wire: $crate::dsl::or_default!([$($wire)?] stringify!($name)),
                doc: $doc,
                params: &<$params as $crate::typed::DeclaredType>::DEF,
                answer: $crate::dsl::optional!($( <$answer as $crate::typed::WireType>::TY )?),
                frames: $crate::dsl::optional!($( $crate::model::OwnFrames {
                    request: $frame,
                    answer: $crate::dsl::optional!($($answered)?),
                    progress: $crate::dsl::optional!($( $( ($progress, <$shown as $crate::typed::WireType>::TY) )? )?),
                } )?),
                fallback: $crate::dsl::optional!($( stringify!($fallback) )?),
                expires: $crate::dsl::optional!($($expires)?),
                withdraws: $crate::dsl::optional!($($withdraws)?),
                undocumented: $crate::dsl::or_default!([$($undocumented)?] false),
                span: $span,
                example: stringify!($example),
            };
        }
    };
    ($kind:ident $name:ident $($rest:tt)*) => {
        compile_error!(concat!(
            "`", stringify!($kind), " ", stringify!($name), "` is not a row: see `protocol!` for the forms"
        ));
    };
}

pub(crate) use {
    constant, declared, entry, openness, optional, or_default, params, params_def, params_name, protocol,
    record, row, span,
};
