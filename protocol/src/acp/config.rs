//! The options of a session, such as the model and its thinking level.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Nothing, OptNull, Str};

protocol! {
    /// The subject of an option, so that clients can show it in a suitable place.
    strings AcpConfigCategory(open) {
        /// The behavior of the agent.
        "mode",
        /// The model.
        "model",
        /// A setting of the model.
        "model_config",
        /// The thinking level of the model.
        "thought_level",
    }

    /// A possible value of an option.
    record AcpConfigValue {
        /// Id of the value.
        value: Str,
        /// Display name.
        name: Str,
        /// Description of the value.
        description: OptNull<Str>,
        ;
        example {"value": "high", "name": "High"}
    }

    /// An option with a list of values.
    record AcpSelectOption(type = "select") {
        /// Id of the option.
        id: Str,
        /// Display name.
        name: Str,
        /// Description of the option.
        description: OptNull<Str>,
        /// Subject of the option.
        category: OptNull<AcpConfigCategory>,
        /// Id of the current value.
        currentValue: Str,
        /// Possible values.
        options: List<AcpConfigValue>,
        ;
        example {
            "type": "select", "id": "thinking", "name": "Thinking", "category": "thought_level", "currentValue": "high",
            "options": [{"value": "off", "name": "Off"}, {"value": "high", "name": "High"}]
        }
    }

    /// An option that is on or off.
    record AcpBooleanOption(type = "boolean") {
        /// Id of the option.
        id: Str,
        /// Display name.
        name: Str,
        /// Description of the option.
        description: OptNull<Str>,
        /// Subject of the option.
        category: OptNull<AcpConfigCategory>,
        /// `true` if the option is on.
        currentValue: Bool,
        ;
        example {"type": "boolean", "id": "compaction", "name": "Compact when the context is full", "currentValue": true}
    }

    /// An option of a session.
    union AcpConfigOption(type, open) { AcpSelectOption, AcpBooleanOption }

    /// All options, with their current values.
    record AcpConfigOptions {
        /// All options of the session.
        configOptions: List<AcpConfigOption>,
        ;
        example {"configOptions": []}
    }

    /// Sets the value of an option.
    command set_config_option(AcpSetConfigOptionParams {
        /// Id of the session.
        sessionId: Str,
        /// Id of the option.
        configId: Str,
        /// New value: the id of a value in the list, or a boolean.
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

    /// Sets the mode of a session. Modes are older than config options; an agent may have either.
    command set_mode(AcpSetModeParams {
        /// Id of the session.
        sessionId: Str,
        /// Id of the mode.
        modeId: Str,
    }) -> Nothing {
        wire: "session/set_mode";
        answer: Done;
        lane: Immediate;
        example {"sessionId": "sess_1", "modeId": "plan"};
    }
}
