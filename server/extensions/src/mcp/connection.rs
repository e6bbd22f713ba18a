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

use super::failure::explain;
use super::fault::Fault;
use super::handler::Progress;
use super::limits::LONGEST_CALL;
use super::parts::{self, ListItem, Page, first, page};
use super::secrets::Secrets;

/// Maximum number of tools, or prompts, of one server that are used.
const MOST: usize = 1_000;
/// Maximum number of pages requested for one list.
const PAGES: usize = 100;
/// Time limit for the ping to a server that has not answered a call.
const ALIVE: Duration = Duration::from_secs(5);
/// Time limit for sending the cancellation of a call.
const CANCEL: Duration = Duration::from_secs(5);

/// The tools and prompts of a server.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    /// The text about tools and prompts that are not used.
    pub left_out: Option<String>,
}

/// The pages of a list, up to the limits.
struct Pages<T> {
    items: Vec<T>,
    /// Texts about unusable items.
    unfit: Vec<String>,
    /// Number of pages read.
    count: usize,
    /// The position of the next page; `None` after the last page.
    cursor: Option<String>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { items: Vec::new(), unfit: Vec::new(), count: 0, cursor: None }
    }
}

impl<T> Pages<T> {
    /// Returns the parameters for the next page; `None` after the last page, or if enough was read.
    fn next(&mut self) -> Option<PaginatedRequestParams> {
        let begins = self.count == 0;
        let goes_on = self.cursor.is_some() && self.count < PAGES && self.items.len() < MOST;
        (begins || goes_on).then(|| PaginatedRequestParams::default().with_cursor(self.cursor.take()))
    }

    fn add(&mut self, page: Page<T>) {
        self.items.extend(page.items);
        self.unfit.extend(page.left_out);
        self.cursor = page.cursor;
        self.count += 1;
    }

    /// Returns the texts about items that are left out.
    fn left_out(&mut self, what: &str) -> Vec<String> {
        let mut sentences = first(std::mem::take(&mut self.unfit));
        sentences.extend(self.too_many(what));
        sentences
    }

    fn too_many(&self, what: &str) -> Option<String> {
        let offered = self.items.len();
        match (offered > MOST, self.cursor.is_some()) {
            (true, false) => Some(format!("it offers {offered} {what}; only the first {MOST} are used")),
            (_, true) if offered >= MOST => {
                Some(format!("it offers more than {MOST} {what}; only the first {MOST} are used"))
            }
            (_, true) => Some(format!(
                "its list of {what} has more than {PAGES} pages; only the {offered} {what} of these are used"
            )),
            (false, false) => None,
        }
    }

    /// Returns the items that are used.
    fn end(mut self) -> Vec<T> {
        self.items.truncate(MOST);
        self.items
    }
}

/// The connection to a running server.
#[derive(Clone)]
pub(super) struct Connection {
    pub peer: Peer<RoleClient>,
    pub progress: Progress,
    pub fault: Fault,
    pub secrets: Secrets,
}

/// Reason for a request without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// The caller aborted the request.
    Aborted,
    /// The server returned an error or an unusable response.
    Said(String),
    /// The server did not respond within this time limit.
    TimedOut(Duration),
    /// The server has ended or cannot be reached, for this reason.
    Gone(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => formatter.write_str("it was stopped"),
            Self::Said(said) => formatter.write_str(said),
            Self::TimedOut(limit) => write!(formatter, "no answer within {} ms", limit.as_millis()),
            Self::Gone(why) => formatter.write_str(why),
        }
    }
}

impl Connection {
    /// Requests the current tools and prompts of the server.
    pub async fn offer(&self) -> Result<Offer, Failed> {
        let info = self.peer.peer_info();
        let can = info.as_ref().map(|info| &info.capabilities);
        let mut offer = Offer::default();
        let mut left_out = Vec::new();
        if can.is_none_or(|can| can.tools.is_some()) {
            let mut all = Pages::default();
            while let Some(next) = all.next() {
                let request = ClientRequest::ListToolsRequest(RequestOptionalParam::with_param(next));
                all.add(self.page(request).await?);
            }
            left_out.extend(all.left_out("tools"));
            offer.tools = all.end();
        }
        if can.is_some_and(|can| can.prompts.is_some()) {
            let mut all = Pages::default();
            while let Some(next) = all.next() {
                let request = ClientRequest::ListPromptsRequest(RequestOptionalParam::with_param(next));
                all.add(self.page(request).await?);
            }
            left_out.extend(all.left_out("prompts"));
            offer.prompts = all.end();
        }
        offer.left_out = (!left_out.is_empty()).then(|| left_out.join("; "));
        Ok(offer)
    }

    /// Requests a page of a list. An item that does not fit the protocol is left out.
    async fn page<T: ListItem>(&self, request: ClientRequest) -> Result<Page<T>, Failed> {
        let answer = self.peer.send_request(request).await.map_err(|error| self.failed(error))?;
        // The SDK does not know a response with such an item, and passes it on unchanged.
        let answer = serde_json::to_value(&answer).unwrap_or_default();
        page(&answer).ok_or_else(|| self.failed(ServiceError::UnexpectedResponse))
    }

    /// Calls a tool; `shown` receives its progress. A call that is aborted, exceeds its time limit or is
    /// dropped is cancelled at the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
        abort: &CancellationToken,
        mut shown: impl FnMut(ProgressNotificationParam) + Send,
    ) -> Result<CallToolResult, Failed> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let sent = tokio::select! {
            biased;
            () = abort.cancelled() => return Err(Failed::Aborted),
            sent = timeout(limit, sent) => sent.map_err(|_| Failed::TimedOut(limit))?,
        };
        let mut open = Open(Some(sent.map_err(|error| self.failed(error))?));
        let Some(token) = open.0.as_ref().map(|handle| handle.progress_token.clone()) else {
            return Err(Failed::Aborted);
        };
        let mut progress = self.progress.listen(token);
        let last = Instant::now() + LONGEST_CALL;
        let mut deadline = Instant::now() + limit;
        loop {
            tokio::select! {
                biased;
                () = abort.cancelled() => return Err(Failed::Aborted),
                answer = open.answer() => return answer.map_err(|error| self.failed(error)).and_then(result),
                () = self.fault.wait() => return Err(self.gone()),
                step = progress.next() => {
                    deadline = Instant::now() + limit;
                    shown(step);
                }
                () = sleep_until(deadline.min(last)) => {
                    drop(open);
                    self.look();
                    return Err(Failed::TimedOut(limit));
                }
            }
        }
    }

    /// Requests the messages of a prompt.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        limit: Duration,
    ) -> Result<GetPromptResult, Failed> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(Request::new(params));
        let answer = tokio::select! {
            biased;
            answer = timeout(limit, self.peer.send_request(request)) => {
                answer.map_err(|_| Failed::TimedOut(limit))?.map_err(|error| self.failed(error))?
            }
            () = self.fault.wait() => return Err(self.gone()),
        };
        let messages = match answer {
            ServerResult::GetPromptResult(result) => Some(result),
            // A message of a kind that the SDK does not know.
            ServerResult::CustomResult(CustomResult(value)) => parts::prompt(&value),
            _ => None,
        };
        messages.ok_or_else(|| self.failed(ServiceError::UnexpectedResponse))
    }

    /// Checks in the background that a server without a response is alive. Otherwise ends its connection.
    fn look(&self) {
        let me = self.clone();
        tokio::spawn(async move {
            let ping = me.peer.send_request(ClientRequest::PingRequest(Default::default()));
            // An error response is a sign of life too.
            if !matches!(timeout(ALIVE, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_)))) {
                me.fault.set("it answers nothing");
            }
        });
    }

    fn gone(&self) -> Failed {
        Failed::Gone(self.fault.why().unwrap_or("it has ended").to_owned())
    }

    fn failed(&self, error: ServiceError) -> Failed {
        match error {
            ServiceError::McpError(said) => Failed::Said(self.secrets.hide(&said.message).into_owned()),
            ServiceError::UnexpectedResponse => {
                Failed::Said("its answer is not what was asked for".to_owned())
            }
            ServiceError::Cancelled { .. } => Failed::Aborted,
            ServiceError::TransportClosed => self.gone(),
            error => {
                let (why, broken) = explain(&error);
                let why = self.secrets.hide(&why).into_owned();
                if broken {
                    self.fault.set(why.clone());
                }
                Failed::Gone(why)
            }
        }
    }
}

/// Converts the response to a call. Some responses have no members that distinguish them from others.
fn result(answer: ServerResult) -> Result<CallToolResult, Failed> {
    match answer {
        ServerResult::CallToolResult(result) => Ok(result),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(CallToolResult::default()),
        // A result with a part that the SDK does not know.
        ServerResult::CustomResult(CustomResult(value)) => parts::result(&value)
            .ok_or_else(|| Failed::Said("its answer is not the result of a tool".to_owned())),
        ServerResult::InputRequiredResult(_) => {
            Err(Failed::Said("it asks for input of the user, which is not supported".to_owned()))
        }
        ServerResult::CreateTaskResult(_) => {
            Err(Failed::Said("it answers with a task, which is not supported".to_owned()))
        }
        _ => Err(Failed::Said("its answer is not the result of a tool".to_owned())),
    }
}

/// A call in progress. It is cancelled at the server when dropped before its response.
struct Open(Option<RequestHandle<RoleClient>>);

impl Open {
    /// Waits for the response. The future may be dropped and requested again.
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            let reason = Some("the caller does not wait any more".to_owned());
            let _ = timeout(CANCEL, handle.cancel(reason)).await;
        });
    }
}
