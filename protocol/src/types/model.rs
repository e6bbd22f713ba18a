//! Models and what can be said about them.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Num, Str};

protocol! {
    /// How hard the model should think.
    strings ThinkingLevel(closed) {
        /// Not at all.
        "off",
        /// As little as the provider allows.
        "minimal",
        /// A little.
        "low",
        /// The default of models that can think.
        "medium",
        /// Much.
        "high",
        /// More than `high`; only some models have it.
        "xhigh",
        /// As much as the model can; only some models have it.
        "max" [since "pi@1.5", since "omp@18.2"],
        /// The agent chooses for each turn.
        "auto" [since "omp@18.2"],
    }

    /// What a model can read.
    strings InputKind(open) {
        /// Text.
        "text",
        /// Images.
        "image",
    }

    /// Prices in US dollars for a million tokens.
    record ModelCost {
        /// Input tokens.
        input: Num,
        /// Output tokens.
        output: Num,
        /// Tokens read from the provider's cache.
        cacheRead: Num,
        /// Tokens written to the provider's cache.
        cacheWrite: Num,
    }

    /// A model that the agent can use.
    record Model {
        /// The model's id at its provider.
        id: Str,
        /// A name for people.
        name: Str,
        /// The provider's wire format, as in `anthropic-messages`.
        api: Str,
        /// The provider.
        provider: Str,
        /// Where the provider is reached.
        baseUrl: Str,
        /// Whether it can think.
        reasoning: Bool,
        /// What it can read.
        input: List<InputKind>,
        /// The context window in tokens.
        contextWindow: Count,
        /// The most tokens of one answer.
        maxTokens: Count,
        /// Prices.
        cost: ModelCost,
        ;
        example {
            "id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4", "api": "anthropic-messages",
            "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
            "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 16384,
            "cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
        }
    }
}
