//! Transport to a server at an address: streamable HTTP.

use std::collections::HashMap;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::stdio::LONGEST_MESSAGE;

/// Creates a transport to an address. Fails if a header has an invalid name or value; the error names the header.
pub(super) fn transport(
    client: reqwest::Client,
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut all = HashMap::new();
    for (name, value) in headers {
        let unusable = || format!("the header \"{name}\" cannot be sent");
        let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
        value.set_sensitive(true);
        all.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(all);
    config.max_json_response_size = LONGEST_MESSAGE;
    config.max_sse_event_size = LONGEST_MESSAGE;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
