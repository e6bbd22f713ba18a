//! Handles the requests of one connection. The response is the login, an answer of the script,
//! or an error.

use std::io;
use std::time::Duration;

use agentese::types::ModelApi;
use serde_json::Value;
use tokio::net::TcpStream;

use super::http::{Connection, HttpRequest};
use super::{Shared, device, playback, request_content};

/// Time without a request after which a connection is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Answers the requests of one connection until one side closes it.
pub(super) async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    loop {
        let request = tokio::time::timeout(IDLE, connection.read_request()).await;
        let Ok(Some(request)) = request.unwrap_or(Ok(None)) else { return Ok(()) };
        if !answer(&mut connection, shared, &request).await? {
            return Ok(());
        }
    }
}

/// Answers one request. Returns `false` if the connection ends with it.
async fn answer(connection: &mut Connection, shared: &Shared, request: &HttpRequest) -> io::Result<bool> {
    if let Some((status, body)) = device::answer(shared, request) {
        connection.write_json(status, &[], &body).await?;
        return Ok(true);
    }
    let Some(api) = api_of(request) else {
        let body = serde_json::json!({"error": {"type": "not_found_error", "message": "no such path"}});
        connection.write_json(404, &[], &body).await?;
        return Ok(true);
    };
    let text = String::from_utf8_lossy(&request.body);
    let body: Value = match serde_json::from_str(&text) {
        Ok(body) => body,
        Err(error) => {
            let message = format!("the body is not JSON: {error}");
            let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message}});
            connection.write_json(400, &[], &body).await?;
            return Ok(true);
        }
    };
    let (turn, received) = shared.select_answer(request_content::read(api, request.path(), &body), &text);
    playback::play(connection, &turn, &received).await
}

fn api_of(request: &HttpRequest) -> Option<ModelApi> {
    const APIS: [(&str, ModelApi); 4] = [
        ("/messages", ModelApi::AnthropicMessages),
        ("/chat/completions", ModelApi::OpenaiCompletions),
        ("/responses", ModelApi::OpenaiResponses),
        (":streamGenerateContent", ModelApi::GoogleGenerativeAi),
    ];
    let api = APIS.into_iter().find(|(end, _)| request.path().ends_with(end));
    api.filter(|_| request.method == "POST").map(|(_, api)| api)
}
