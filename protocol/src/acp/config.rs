//! What can be chosen in a session: the model, how hard it thinks.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Nothing, OptNull, Str};

protocol! {
    /// What an option is about, so that clients can show it in its place.
    strings AcpConfigCategory(open) {
        /// How the agent behaves.
        "mode",
        /// The model.
        "model",
        /// A setting of the model.
        "model_config",
        /// How hard the model thinks.
        "thought_level",
    }

    /// A value that can be chosen.
    record AcpConfigValue {
        /// Names it.
        value: Str,
        /// Its name for people.
        name: Str,
        /// What it is.
        description: OptNull<Str>,
        ;
        example {"value": "high", "name": "High"}
    }

    /// An option with a list of values.
    record AcpSelectOption(type = "select") {
        /// Names it.
        id: Str,
        /// Its name for people.
        name: Str,
        /// What it is.
        description: OptNull<Str>,
        /// What it is about.
        category: OptNull<AcpConfigCategory>,
        /// The value that is chosen.
        currentValue: Str,
        /// The values.
        options: List<AcpConfigValue>,
        ;
        example {
            "type": "select", "id": "thinking", "name": "Thinking", "category": "thought_level", "currentValue": "high",
            "options": [{"value": "off", "name": "Off"}, {"value": "high", "name": "High"}]
        }
    }

    /// An option that is on or off.
    record AcpBooleanOption(type = "boolean") {
        /// Names it.
        id: Str,
        /// Its name for people.
        name: Str,
        /// What it is.
        description: OptNull<Str>,
        /// What it is about.
        category: OptNull<AcpConfigCategory>,
        /// Whether it is on.
        currentValue: Bool,
        ;
        example {"type": "boolean", "id": "compaction", "name": "Compact when the context is full", "currentValue": true}
    }

    /// An option of a session.
    union AcpConfigOption(type, open) { AcpSelectOption, AcpBooleanOption }

    /// All options, with what is chosen now.
    record AcpConfigOptions {
        /// The options.
        configOptions: List<AcpConfigOption>,
        ;
        example {"configOptions": []}
    }

    /// Chooses a value of an option.
    command set_config_option(AcpSetConfigOptionParams {
        /// The session.
        sessionId: Str,
        /// The option.
        configId: Str,
        /// The value: that of a list, or true or false.
        value: Any,
    }) -> AcpConfigOptions {
        wire: "session/set_config_option";
        answer: Done;
        lane: Immediate;
        errors {
            (-32002) ResourceNotFound "Resource not found: {uri}" => "no session has that id";
        }
        example {"sessionId": "sess_1", "configId": "thinking", "value": "high"} -> {"configOptions": []};
    }

    /// Chooses a mode. Modes are older than config options; an agent may have either.
    command set_mode(AcpSetModeParams {
        /// The session.
        sessionId: Str,
        /// The mode.
        modeId: Str,
    }) -> Nothing {
        wire: "session/set_mode";
        answer: Done;
        lane: Immediate;
        example {"sessionId": "sess_1", "modeId": "plan"};
    }
}
