//! Names of environment variables with keys of providers that this project does not support.
//!
//! Programs that the agent starts inherit these variables only if they need them (see [`super::key_variables`]).

/// Variables that contain a key for some program, in alphabetical order. Variables with the path of a key file are not
/// listed.
pub(super) const OTHERS: &[&str] = &[
    "AI21_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_AI_API_KEY",
    "AZURE_API_KEY",
    "AZURE_CLIENT_SECRET",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_KEY",
    "BASETEN_API_KEY",
    "CHUTES_API_KEY",
    "CLAUDE_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLOUDFLARE_AI_GATEWAY_TOKEN",
    "CLOUDFLARE_API_KEY",
    "CLOUDFLARE_API_TOKEN",
    "CODEX_API_KEY",
    "COHERE_API_KEY",
    "COPILOT_API_KEY",
    "COPILOT_TOKEN",
    "CO_API_KEY",
    "CURSOR_API_KEY",
    "DASHSCOPE_API_KEY",
    "DATABRICKS_TOKEN",
    "DEEPINFRA_API_KEY",
    "DEEPINFRA_TOKEN",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "FIREWORKS_AI_API_KEY",
    "GITHUB_COPILOT_TOKEN",
    "GITHUB_MODELS_TOKEN",
    "GITLAB_TOKEN",
    "GOOGLE_AI_API_KEY",
    "GOOGLE_CLOUD_API_KEY",
    "GOOGLE_GENAI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "HUGGINGFACEHUB_API_TOKEN",
    "HUGGINGFACE_API_KEY",
    "HUGGINGFACE_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HYPERBOLIC_API_KEY",
    "KILO_API_KEY",
    "LITELLM_API_KEY",
    "LITELLM_MASTER_KEY",
    "LLAMA_API_KEY",
    "LM_STUDIO_API_KEY",
    "MODELSCOPE_API_KEY",
    "MOONSHOT_API_KEY",
    "NEBIUS_API_KEY",
    "NOVITA_API_KEY",
    "NVIDIA_API_KEY",
    "NVIDIA_NIM_API_KEY",
    "OLLAMA_API_KEY",
    "OPENAI_ACCESS_TOKEN",
    "OPENAI_ADMIN_KEY",
    "OPENCODE_ZEN_API_KEY",
    "PERPLEXITYAI_API_KEY",
    "PERPLEXITY_API_KEY",
    "PORTKEY_API_KEY",
    "QIANFAN_API_KEY",
    "QWEN_API_KEY",
    "REPLICATE_API_KEY",
    "REPLICATE_API_TOKEN",
    "REQUESTY_API_KEY",
    "SAMBANOVA_API_KEY",
    "SILICONFLOW_API_KEY",
    "STEPFUN_API_KEY",
    "SYNTHETIC_API_KEY",
    "TOGETHERAI_API_KEY",
    "TOGETHER_AI_API_KEY",
    "TOGETHER_API_KEY",
    "UPSTAGE_API_KEY",
    "VENICE_API_KEY",
    "VERCEL_AI_GATEWAY_API_KEY",
    "VERCEL_OIDC_TOKEN",
    "VERTEX_API_KEY",
    "VLLM_API_KEY",
    "VOLCENGINE_API_KEY",
    "VOYAGE_API_KEY",
    "WATSONX_API_KEY",
    "WATSONX_APIKEY",
    "XIAOMI_API_KEY",
    "ZHIPUAI_API_KEY",
    "ZHIPU_API_KEY",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_listed_once() {
        let mut all: Vec<_> = crate::key_variables().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(OTHERS.iter().all(|name| all.contains(name)));
    }
}
