//! Requests to a running server.

use std::fmt;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, CustomResult, GetPromptRequestParams,
    GetPromptResult, JsonObject, PaginatedRequestParams, ProgressNotificationParam, Prompt, Request,
    RequestOptionalParam, ServerResult, Tool,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::disconnect::DisconnectSignal;
use super::error_messages::explain;
use super::handler::ProgressRouter;
use super::lenient::{self, ListItem, Page, limit_sentences, parse_page};
use super::limits::LONGEST_CALL;
use super::secrets::Secrets;

/// Maximum number of tools that are used from one server; also the maximum number of prompts.
const MAX_ITEMS: usize = 1_000;
/// Maximum number of pages requested for one list.
const PAGES: usize = 100;
/// Time limit for a server to answer a ping. A ping is sent if a server has not answered a call.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for sending the cancellation of a call.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools and prompts of a server.
#[derive(Debug, Default)]
pub(super) struct ServerFeatures {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    /// The text that reports unused tools and prompts.
    pub left_out: Option<String>,
}

/// The items of a list whose pages are being read.
struct Pages<T> {
    items: Vec<T>,
    /// Sentences about unusable items.
    skipped: Vec<String>,
    /// Number of pages that were read.
    count: usize,
    /// The position of the next page; `None` after the last page.
    cursor: Option<String>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { items: Vec::new(), skipped: Vec::new(), count: 0, cursor: None }
    }
}

impl<T> Pages<T> {
    /// Returns the parameters that request the next page. Returns `None` after the last page, or if a limit on pages or
    /// items is reached.
    fn next(&mut self) -> Option<PaginatedRequestParams> {
        let begins = self.count == 0;
        let goes_on = self.cursor.is_some() && self.count < PAGES && self.items.len() < MAX_ITEMS;
        (begins || goes_on).then(|| PaginatedRequestParams::default().with_cursor(self.cursor.take()))
    }

    fn add(&mut self, page: Page<T>) {
        self.items.extend(page.items);
        self.skipped.extend(page.left_out);
        self.cursor = page.cursor;
        self.count += 1;
    }

    /// Returns sentences about the items that are not used. `what` is their name in the plural.
    fn left_out(&mut self, what: &str) -> Vec<String> {
        let mut sentences = limit_sentences(std::mem::take(&mut self.skipped));
        sentences.extend(self.too_many(what));
        sentences
    }

    fn too_many(&self, what: &str) -> Option<String> {
        let offered = self.items.len();
        match (offered > MAX_ITEMS, self.cursor.is_some()) {
            (true, false) => Some(format!("it offers {offered} {what}; only the first {MAX_ITEMS} are used")),
            (_, true) if offered >= MAX_ITEMS => {
                Some(format!("it offers more than {MAX_ITEMS} {what}; only the first {MAX_ITEMS} are used"))
            }
            (_, true) => Some(format!(
                "its list of {what} has more than {PAGES} pages; only the {offered} {what} of these are used"
            )),
            (false, false) => None,
        }
    }

    /// Returns the items up to the maximum number.
    fn into_items(mut self) -> Vec<T> {
        self.items.truncate(MAX_ITEMS);
        self.items
    }
}

/// The connection to a running server.
#[derive(Clone)]
pub(super) struct Connection {
    pub peer: Peer<RoleClient>,
    pub progress: ProgressRouter,
    pub disconnect: DisconnectSignal,
    pub secrets: Secrets,
}

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestError {
    /// The caller aborted the request.
    Aborted,
    /// The server returned an error or an unusable response.
    Response(String),
    /// The server did not respond within this time limit.
    TimedOut(Duration),
    /// The server has ended or cannot be reached, for this reason.
    Disconnected(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => formatter.write_str("it was stopped"),
            Self::Response(text) => formatter.write_str(text),
            Self::TimedOut(limit) => write!(formatter, "no answer within {} ms", limit.as_millis()),
            Self::Disconnected(why) => formatter.write_str(why),
        }
    }
}

impl Connection {
    /// Requests the current tools and prompts of the server. Fails if a list cannot be read.
    pub async fn list_features(&self) -> Result<ServerFeatures, RequestError> {
        let info = self.peer.peer_info();
        let can = info.as_ref().map(|info| &info.capabilities);
        let mut features = ServerFeatures::default();
        let mut left_out = Vec::new();
        if can.is_none_or(|can| can.tools.is_some()) {
            let mut all = Pages::default();
            while let Some(next) = all.next() {
                let request = ClientRequest::ListToolsRequest(RequestOptionalParam::with_param(next));
                all.add(self.page(request).await?);
            }
            left_out.extend(all.left_out("tools"));
            features.tools = all.into_items();
        }
        if can.is_some_and(|can| can.prompts.is_some()) {
            let mut all = Pages::default();
            while let Some(next) = all.next() {
                let request = ClientRequest::ListPromptsRequest(RequestOptionalParam::with_param(next));
                all.add(self.page(request).await?);
            }
            left_out.extend(all.left_out("prompts"));
            features.prompts = all.into_items();
        }
        features.left_out = (!left_out.is_empty()).then(|| left_out.join("; "));
        Ok(features)
    }

    /// Requests a page of a list. Items that do not fit the protocol are left out and reported.
    async fn page<T: ListItem>(&self, request: ClientRequest) -> Result<Page<T>, RequestError> {
        let answer = self.peer.send_request(request).await.map_err(|error| self.request_error(error))?;
        // The SDK does not know a response with such an item, and passes it on unchanged.
        let answer = serde_json::to_value(&answer).unwrap_or_default();
        parse_page(&answer).ok_or_else(|| self.request_error(ServiceError::UnexpectedResponse))
    }

    /// Calls a tool. `on_progress` receives its progress. The call is cancelled at the server if it is aborted, exceeds
    /// its time limit, or its future is dropped.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
        abort: &CancellationToken,
        mut on_progress: impl FnMut(ProgressNotificationParam) + Send,
    ) -> Result<CallToolResult, RequestError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let sent = tokio::select! {
            biased;
            () = abort.cancelled() => return Err(RequestError::Aborted),
            sent = timeout(limit, sent) => sent.map_err(|_| RequestError::TimedOut(limit))?,
        };
        let mut open = ToolCallGuard(Some(sent.map_err(|error| self.request_error(error))?));
        let Some(token) = open.0.as_ref().map(|handle| handle.progress_token.clone()) else {
            return Err(RequestError::Aborted);
        };
        let mut progress = self.progress.subscribe(token);
        let last = Instant::now() + LONGEST_CALL;
        let mut deadline = Instant::now() + limit;
        loop {
            tokio::select! {
                biased;
                () = abort.cancelled() => return Err(RequestError::Aborted),
                answer = open.answer() => return answer.map_err(|error| self.request_error(error)).and_then(result),
                () = self.disconnect.wait() => return Err(self.disconnected()),
                step = progress.next() => {
                    deadline = Instant::now() + limit;
                    on_progress(step);
                }
                () = sleep_until(deadline.min(last)) => {
                    drop(open);
                    self.check_alive();
                    return Err(RequestError::TimedOut(limit));
                }
            }
        }
    }

    /// Requests the messages that a prompt of the server expands to.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        limit: Duration,
    ) -> Result<GetPromptResult, RequestError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(Request::new(params));
        let answer = tokio::select! {
            biased;
            answer = timeout(limit, self.peer.send_request(request)) => {
                answer.map_err(|_| RequestError::TimedOut(limit))?.map_err(|error| self.request_error(error))?
            }
            () = self.disconnect.wait() => return Err(self.disconnected()),
        };
        let messages = match answer {
            ServerResult::GetPromptResult(result) => Some(result),
            // A message of a kind that the SDK does not know.
            ServerResult::CustomResult(CustomResult(value)) => lenient::parse_prompt(&value),
            _ => None,
        };
        messages.ok_or_else(|| self.request_error(ServiceError::UnexpectedResponse))
    }

    /// Checks in the background if a silent server is alive. Ends its connection if it does not answer a ping.
    fn check_alive(&self) {
        let me = self.clone();
        tokio::spawn(async move {
            let ping = me.peer.send_request(ClientRequest::PingRequest(Default::default()));
            // An error response is a sign of life too.
            if !matches!(timeout(PING_TIMEOUT, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_)))) {
                me.disconnect.set("it does not answer");
            }
        });
    }

    fn disconnected(&self) -> RequestError {
        RequestError::Disconnected(self.disconnect.reason().unwrap_or("it has ended").to_owned())
    }

    fn request_error(&self, error: ServiceError) -> RequestError {
        match error {
            ServiceError::McpError(error) => {
                RequestError::Response(self.secrets.redact(&error.message).into_owned())
            }
            ServiceError::UnexpectedResponse => {
                RequestError::Response("its answer does not fit the request".to_owned())
            }
            ServiceError::Cancelled { .. } => RequestError::Aborted,
            ServiceError::TransportClosed => self.disconnected(),
            error => {
                let (why, broken) = explain(&error);
                let why = self.secrets.redact(&why).into_owned();
                if broken {
                    self.disconnect.set(why.clone());
                }
                RequestError::Disconnected(why)
            }
        }
    }
}

/// Returns the result of a tool call from a response. An empty response is an empty result. Fails if the response is
/// not a tool result.
fn result(answer: ServerResult) -> Result<CallToolResult, RequestError> {
    match answer {
        ServerResult::CallToolResult(result) => Ok(result),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(CallToolResult::default()),
        // A result with a part that the SDK does not know.
        ServerResult::CustomResult(CustomResult(value)) => lenient::parse_result(&value)
            .ok_or_else(|| RequestError::Response("its answer is not a tool result".to_owned())),
        ServerResult::InputRequiredResult(_) => {
            Err(RequestError::Response("it requests user input, which is not supported".to_owned()))
        }
        ServerResult::CreateTaskResult(_) => {
            Err(RequestError::Response("it answers with a task, which is not supported".to_owned()))
        }
        _ => Err(RequestError::Response("its answer is not a tool result".to_owned())),
    }
}

/// A call in progress. If it is dropped before its response, it is cancelled at the server.
struct ToolCallGuard(Option<RequestHandle<RoleClient>>);

impl ToolCallGuard {
    /// Waits for the response. If the future is dropped, a later call can continue to wait.
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for ToolCallGuard {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            let reason = Some("the caller no longer waits for the result".to_owned());
            let _ = timeout(CANCEL_TIMEOUT, handle.cancel(reason)).await;
        });
    }
}
