//! Models and their properties.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Num, Object, Opt, Str};

protocol! {
    /// The amount of reasoning requested from the model.
    strings ThinkingLevel(closed) {
        /// No reasoning.
        "off",
        /// The least reasoning that the provider allows.
        "minimal",
        /// Little reasoning.
        "low",
        /// The default of models that can reason.
        "medium",
        /// Much reasoning.
        "high",
        /// More than `high`; supported by some models only.
        "xhigh",
        /// The maximum of the model; supported by some models only.
        "max" [since "pi@1.5", since "omp@18.2"],
        /// A level that the agent chooses for each turn.
        "auto" [since "omp@18.2"],
    }

    /// The kinds of input that a model accepts.
    strings InputKind(open) {
        /// The model accepts text.
        "text",
        /// The model accepts images.
        "image",
    }

    /// Prices in US dollars per million tokens.
    record ModelCost {
        /// Price of input tokens.
        input: Num,
        /// Price of output tokens.
        output: Num,
        /// Price of tokens read from the provider's cache.
        cacheRead: Num,
        /// Price of tokens written to the provider's cache.
        cacheWrite: Num,
    }

    /// The lifetimes of prompt prefixes in a provider's cache, in seconds.
    record PromptCacheTimes {
        /// Lifetime with the usual retention.
        short: Opt<Num>,
        /// Lifetime with the long retention.
        long: Opt<Num>,
    }

    /// The size to which images are reduced before they enter a conversation.
    record ImageSize {
        /// Maximum width in pixels.
        maxWidth: Opt<Count>,
        /// Maximum height in pixels.
        maxHeight: Opt<Count>,
        /// Maximum number of bytes in base64.
        maxBytes: Opt<Count>,
        /// JPEG quality from 1 to 100.
        jpegQuality: Opt<Count>,
    }

    /// Limits for images.
    record ImageLimits {
        /// Maximum number of images in one message.
        maxPerMessage: Opt<Count>,
        /// Maximum number of images in one request.
        maxPerRequest: Opt<Count>,
        /// Size to which images are reduced.
        resize: Opt<ImageSize>,
    }

    /// The input limits of a provider.
    record InputLimits {
        /// Maximum size of a request in bytes.
        maxRequestBytes: Opt<Count>,
        /// Limits for images.
        images: Opt<ImageLimits>,
    }

    /// The purpose of a model.
    strings ModelKind(open) {
        /// A model for conversations.
        "chat",
    }

    /// A model that is available to the agent.
    record Model {
        /// Id of the model at its provider.
        id: Str,
        /// Display name.
        name: Str,
        /// Wire format of the provider, as in `anthropic-messages`.
        api: Str,
        /// Name of the provider.
        provider: Str,
        /// URL of the provider's API.
        baseUrl: Str,
        /// `true` if the model can reason.
        reasoning: Bool,
        /// Kinds of input that the model accepts.
        input: List<InputKind>,
        /// Size of the context window in tokens.
        contextWindow: Count,
        /// Maximum number of tokens in one answer.
        maxTokens: Count,
        /// Prices of the model.
        cost: ModelCost,
        /// Configured differences of the API from others of the same wire format.
        compat: Opt<Object> [since "pi@1.5"],
        /// Lifetimes of prompt prefixes in the provider's cache, if known.
        promptCache: Opt<PromptCacheTimes> [since "pi@1.5"],
        /// Input limits of the provider, if known.
        inputLimits: Opt<InputLimits> [since "pi@1.5"],
        /// Purpose of the model; present for models that the agent knows without a file.
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
