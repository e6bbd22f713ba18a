//! Models and what can be said about them.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Num, Object, Opt, Str};

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

    /// How long a provider keeps the beginnings of prompts in its cache, in seconds.
    record PromptCacheTimes {
        /// With the usual retention.
        short: Opt<Num>,
        /// With the long one.
        long: Opt<Num>,
    }

    /// To what size images are brought before they enter a conversation.
    record ImageSize {
        /// Pixels from left to right.
        maxWidth: Opt<Count>,
        /// Pixels from top to bottom.
        maxHeight: Opt<Count>,
        /// Bytes as base64.
        maxBytes: Opt<Count>,
        /// From 1 to 100.
        jpegQuality: Opt<Count>,
    }

    /// Limits for images.
    record ImageLimits {
        /// The most in one message.
        maxPerMessage: Opt<Count>,
        /// The most in one request.
        maxPerRequest: Opt<Count>,
        /// To what size they are brought.
        resize: Opt<ImageSize>,
    }

    /// How much a provider takes at a time.
    record InputLimits {
        /// The largest request in bytes.
        maxRequestBytes: Opt<Count>,
        /// Limits for images.
        images: Opt<ImageLimits>,
    }

    /// What a model is for.
    strings ModelKind(open) {
        /// Conversations.
        "chat",
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
        /// How its API differs from others of that wire format, as it is configured.
        compat: Opt<Object> [since "pi@1.5"],
        /// How long its provider keeps the beginnings of prompts, where that is known.
        promptCache: Opt<PromptCacheTimes> [since "pi@1.5"],
        /// How much its provider takes at a time, where that is known.
        inputLimits: Opt<InputLimits> [since "pi@1.5"],
        /// What it is for; of models that the agent knows without a file.
        type: Opt<ModelKind> [since "pi@1.5"],
        ;
        example {
            "id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4", "api": "anthropic-messages",
            "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
            "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 16384,
            "cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
        }
    }
}
