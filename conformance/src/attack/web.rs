//! Attack on the server of a page: its access control, the commands that it forwards to the agent, and its
//! resource usage.

mod frames;
mod socket;

use std::path::PathBuf;

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::agent::{AgentConfig, AgentUnderTest, AttackEnv, LONG};
use super::codec::DialectCodec;
use super::stand_in::StandIn;
use super::{Attack, AttackContext, AttackError, AttackFindings, Counts, usage};
use socket::{Address, Tab};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "web",
    description: "requests without rights, repeated members, half requests, floods: no denied command reaches the agent, the user is served",
    run: |context| Box::pin(attack(context)),
};

/// Number of hostile frames to one page.
const FRAMES: usize = 120;
/// Number of incomplete requests; it exceeds the server's limit of open files.
const HALVES: usize = 300;
const FILES: &str = "ulimit -n 256; exec \"$@\"";
/// Number of denied commands with long ids; `LONG_ID` is the length of an id in bytes, and `GROWTH` the
/// permitted growth of the server's memory in MiB.
const FLOOD: usize = 4000;
const LONG_ID: usize = 20_000;
const GROWTH: u64 = 48;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let Some(line) = context.config.surfaces.web.clone() else {
        return Err(AttackError::NotApplicable("--web is not given".to_owned()));
    };
    let has_rights = line.contains("{rights}");
    let mut found = AttackFindings::default();
    let strangers = check_access(&Page::start(&context.config, &line, &[], &[]).await?).await;
    let strangers = found.record(strangers)?.unwrap_or_default();
    let (mut frames, mut pages, mut grown) = (0, 0, 0);
    if has_rights {
        grown = found.record(flood(context, &line).await)?.unwrap_or_default();
    }
    found.record(half_requests(context, &line).await)?;
    while has_rights && (pages < 2 || (found.is_empty() && context.has_time())) {
        frames += found.record(rights(context, &line, pages % 2 == 0).await)?.unwrap_or_default();
        pages += 1;
    }
    found.finish(vec![
        ("requests of strangers", strangers),
        ("frames with denied commands", frames),
        ("half requests", HALVES as u64),
        ("MiB of memory for a flood of ids", grown),
    ])
}

/// A page whose agent records its input and does no work.
struct Page {
    env: AttackEnv,
    server: AgentUnderTest,
    address: Address,
    log: PathBuf,
    codec: DialectCodec,
}

impl Page {
    async fn start(
        field: &AgentConfig,
        line: &str,
        rights: &[&str],
        wrapper: &[&str],
    ) -> Result<Self, AttackError> {
        let env = AttackEnv::new(field, json!({"responses": [], "default": {"text": "OK."}})).await?;
        let log = env.work().with_file_name("reached.log");
        let codec = env.codec().clone();
        let agent = StandIn::Agent { dialect: codec.spec.id(), log: log.clone() }.command()?;
        let rights = rights.iter().map(|word| (*word).to_owned()).collect();
        let wrapper: Vec<String> = wrapper.iter().map(|word| (*word).to_owned()).collect();
        let argv = [wrapper, env.surface(line, &agent, &[("rights", rights)])].concat();
        let mut server = env.spawn(&argv, codec.clone())?;
        let printed = server.line("the address of the page").await?.unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let address = Address::parse(&printed).ok_or_else(|| {
            AttackError::Environment(format!(
                "the first line of the page's server is not an address: {printed}"
            ))
        })?;
        Ok(Self { env, server, address, log, codec })
    }

    /// Checks that the user's own tab can connect and gets an answer.
    async fn check_user_access(&self, id: &str) -> Result<(), AttackError> {
        let mut tab = self.address.tab(id).await?;
        self.is_answered(&mut tab, id).await.and_then(|answered| match answered {
            true => Ok(()),
            false => Err(AttackError::finding("the server closed the connection of its user")),
        })
    }

    async fn is_answered(&self, tab: &mut Tab, id: &str) -> Result<bool, AttackError> {
        let line = self.codec.query(id);
        Ok(tab.send(Message::text(line.trim_end())).await && tab.wait_for_answer(&self.codec, id).await?)
    }

    async fn end(self) -> Result<(), AttackError> {
        let Self { env, server, .. } = self;
        drop(server);
        env.check_no_processes().await
    }
}

/// Checks that requests without the token, with another host or from another origin are rejected, and that
/// the user gets access.
async fn check_access(page: &Page) -> Result<u64, AttackError> {
    let own = &page.address.path;
    let mut wrong = own.clone();
    let last = wrong.trim_end_matches('/').len() - 1;
    wrong.replace_range(last..=last, if wrong[last..].starts_with('A') { "B" } else { "A" });
    let shorter = format!("{}/", &own[..last]);
    let mut count = 0;
    for socket in [false, true] {
        let end = if socket { "ws?tab=stranger" } else { "" };
        let known = page.address.headers(socket);
        let with = |name: &'static str, value: &str| {
            let mut all: Vec<(&str, String)> =
                known.iter().filter(|(own, _)| *own != name).cloned().collect();
            all.push((name, value.to_owned()));
            all
        };
        let tries = [
            (wrong.as_str(), known.clone()),
            (shorter.as_str(), known.clone()),
            ("/", known.clone()),
            (own.as_str(), with("Host", "evil.example")),
            (own.as_str(), with("Host", &format!("127.0.0.1.evil.example:{}", page.address.port))),
            (own.as_str(), with("Origin", "http://evil.example")),
            (own.as_str(), with("Origin", "null")),
            (own.as_str(), with("Sec-Fetch-Site", "cross-site")),
        ];
        for (path, headers) in tries {
            let status = page.address.status(&format!("{path}{end}"), &headers).await?;
            if !(400..500).contains(&status) {
                let shown =
                    headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>();
                return Err(AttackError::finding(format!(
                    "a request without rights is accepted (status {status}): {} with {}",
                    if path == own { "the address" } else { "another address" },
                    shown.join(", ")
                )));
            }
            count += 1;
        }
    }
    page.check_user_access("owner").await?;
    Ok(count)
}

/// Sends frames in which denied commands are hidden, and checks that they do not reach the agent.
async fn rights(context: &mut AttackContext, line: &str, read_only: bool) -> Result<u64, AttackError> {
    let codec = DialectCodec::of(&context.config.profile.dialect)
        .ok_or_else(|| AttackError::Environment("unknown dialect".into()))?;
    let acting: Vec<&'static str> =
        codec.spec.commands.iter().filter(|command| !command.reads).map(|command| command.wire).collect();
    let denied = if read_only { codec.start_command() } else { acting[context.rng.usize(..acting.len())] };
    let rights: &[&str] = if read_only { &["--read-only"] } else { &["--deny", denied] };
    let page = Page::start(&context.config, line, rights, &[]).await?;
    let mut tab = page.address.tab("hostile").await?;
    // The stand-in agent asks its question after its first command.
    page.is_answered(&mut tab, "first").await?;
    for number in 0..FRAMES {
        let id = format!("hostile-{number}");
        let message = frames::hostile(&page.codec, &mut context.rng, denied, &id);
        let shown = format!("{message:?}");
        let check = format!("after-{number}");
        if !(tab.send(message).await && page.is_answered(&mut tab, &check).await?) {
            // A server may close the connection after such frames.
            tab = page.address.tab("hostile-again").await?;
            page.is_answered(&mut tab, &format!("{check}-again")).await?;
        }
        let reached = std::fs::read(&page.log).unwrap_or_default();
        if let Some(line) = reached.split(|byte| *byte == b'\n').find(|line| frames::may_name(line, denied)) {
            return Err(AttackError::finding(format!(
                "`{}` reached the agent despite {rights:?}: {} (sent: {shown:.300})",
                denied,
                String::from_utf8_lossy(&line[..line.len().min(200)])
            )));
        }
    }
    page.server.check_memory(&context.config)?;
    page.check_user_access("owner").await?;
    page.end().await?;
    Ok(FRAMES as u64)
}

/// Sends denied commands with long ids. The server must not keep all of these ids in memory.
async fn flood(context: &mut AttackContext, line: &str) -> Result<u64, AttackError> {
    let page = Page::start(&context.config, line, &["--read-only"], &[]).await?;
    let mut tab = page.address.tab("flood").await?;
    page.is_answered(&mut tab, "first").await?;
    let before = usage::memory(page.server.id()).unwrap_or_default();
    let (key, denied) = (frames::command_member(&page.codec), page.codec.start_command());
    let long = "i".repeat(LONG_ID);
    for number in 0..FLOOD {
        let head = if key == "method" { r#""jsonrpc":"2.0","# } else { "" };
        let frame = format!("{{{head}\"id\":\"{number}-{long}\",\"{key}\":\"{denied}\"}}");
        let open = tab.send(Message::text(frame)).await;
        // Answers are read from time to time, so that they do not accumulate.
        let check = format!("flood-{number}");
        if !open || (number % 50 == 0 && !page.is_answered(&mut tab, &check).await?) {
            tab = page.address.tab("flood-again").await?;
        }
    }
    if !page.is_answered(&mut tab, "last").await? {
        page.check_user_access("owner").await?;
    }
    let grown = usage::memory(page.server.id()).unwrap_or_default().saturating_sub(before);
    if grown > GROWTH {
        return Err(AttackError::finding(format!(
            "{FLOOD} denied commands with ids of {LONG_ID} bytes leave {grown} MiB allocated; the limit is {GROWTH} MiB"
        )));
    }
    drop(tab);
    page.end().await?;
    Ok(grown)
}

/// Opens connections with incomplete requests, more than the server's limit of open files.
async fn half_requests(context: &mut AttackContext, line: &str) -> Result<(), AttackError> {
    let page = Page::start(&context.config, line, &[], &["sh", "-c", FILES, "sh"]).await?;
    let mut halves = Vec::new();
    for _ in 0..HALVES {
        match tokio::time::timeout(LONG, page.address.half_request()).await {
            Ok(Ok(stream)) => halves.push(stream),
            // If the server accepts no further connections, the next step checks its state.
            _ => break,
        }
    }
    page.check_user_access("owner").await.map_err(|trouble| match trouble {
        AttackError::Finding(text) => {
            AttackError::Finding(format!("after {} half requests (256 files): {text}", halves.len()))
        }
        other => other,
    })?;
    drop(halves);
    page.end().await
}
