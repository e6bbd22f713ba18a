//! A server that is there: what it is asked.

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

/// How many tools or prompts of one server count.
const MOST: usize = 1_000;
/// How many pages of them are asked for.
const PAGES: usize = 100;
/// How long a server that has not answered a call may take to say that it is alive.
const ALIVE: Duration = Duration::from_secs(5);
/// How long the words that a call is cancelled may take.
const CANCEL: Duration = Duration::from_secs(5);

/// What a server offers.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    /// A sentence about tools and prompts that it offers and that are not used.
    pub left_out: Option<String>,
}

/// The pages of a list, as far as they count.
struct Pages<T> {
    items: Vec<T>,
    /// Sentences about items that cannot be used.
    unfit: Vec<String>,
    /// How many pages were read.
    count: usize,
    /// The place at which the next one begins; none behind the last one.
    cursor: Option<String>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { items: Vec::new(), unfit: Vec::new(), count: 0, cursor: None }
    }
}

impl<T> Pages<T> {
    /// The page to be asked for next; none where there is none, or enough was read.
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

    /// Sentences about what is left out.
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

    /// The items that count.
    fn end(mut self) -> Vec<T> {
        self.items.truncate(MOST);
        self.items
    }
}

/// A server that is there.
#[derive(Clone)]
pub(super) struct Connection {
    pub peer: Peer<RoleClient>,
    pub progress: Progress,
    pub fault: Fault,
    pub secrets: Secrets,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// Whoever asked wants to stop.
    Aborted,
    /// The server says that it cannot.
    Said(String),
    /// It says nothing.
    TimedOut(Duration),
    /// It is gone, or cannot be reached.
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
    /// What the server offers now.
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

    /// A page of a list. An item that does not fit the protocol is left out.
    async fn page<T: ListItem>(&self, request: ClientRequest) -> Result<Page<T>, Failed> {
        let answer = self.peer.send_request(request).await.map_err(|error| self.failed(error))?;
        // An answer with such an item is none that the SDK knows, and comes as it is.
        let answer = serde_json::to_value(&answer).unwrap_or_default();
        page(&answer).ok_or_else(|| self.failed(ServiceError::UnexpectedResponse))
    }

    /// Calls a tool. `shown` hears of progress. A call that is aborted, given up or dropped is cancelled at the server.
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

    /// The messages of a prompt.
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

    /// Looks whether a server that did not answer is alive; its connection ends where it is not.
    fn look(&self) {
        let me = self.clone();
        tokio::spawn(async move {
            let ping = me.peer.send_request(ClientRequest::PingRequest(Default::default()));
            // A refusal is a sign of life.
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

/// What a call gives; some answers have no members by which they could be told from others.
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

/// A call that the server works on: cancelled there, unless it has answered.
struct Open(Option<RequestHandle<RoleClient>>);

impl Open {
    /// The answer. May be dropped and called again.
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
