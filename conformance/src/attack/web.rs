//! The server of a page: its access control, the lines that reach the agent, and its resource usage.

mod frames;
mod socket;

use std::path::PathBuf;

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::speech::Speech;
use super::stand_in::StandIn;
use super::victim::{Field, LONG, Site, Victim};
use super::{Attack, Counts, Findings, Round, Trouble, usage};
use socket::{Address, Tab};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "web",
    says: "strangers, repeated members, half requests, floods: nothing denied reaches the agent, the user does",
    carry_out: |round| Box::pin(attack(round)),
};

/// Number of hostile frames to one page.
const FRAMES: usize = 120;
/// Number of connections with half a request, and the server's limit of open files.
const HALVES: usize = 300;
const FILES: &str = "ulimit -n 256; exec \"$@\"";
/// Number of denied commands with long ids, the length of an id, and the permitted growth of memory in MiB.
const FLOOD: usize = 4000;
const LONG_ID: usize = 20_000;
const GROWTH: u64 = 48;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let Some(line) = round.field.surfaces.web.clone() else {
        return Err(Trouble::NotHere("no --web is given".to_owned()));
    };
    let has_rights = line.contains("{rights}");
    let mut found = Findings::default();
    let strangers = door(&Page::start(&round.field, &line, &[], &[]).await?).await;
    let strangers = found.note(strangers)?.unwrap_or_default();
    let (mut frames, mut pages, mut grown) = (0, 0, 0);
    if has_rights {
        grown = found.note(flood(round, &line).await)?.unwrap_or_default();
    }
    found.note(half_requests(round, &line).await)?;
    while has_rights && (pages < 2 || (found.is_empty() && round.goes_on())) {
        frames += found.note(rights(round, &line, pages % 2 == 0).await)?.unwrap_or_default();
        pages += 1;
    }
    found.or(vec![
        ("requests of strangers", strangers),
        ("frames with denied commands", frames),
        ("half requests", HALVES as u64),
        ("MiB of memory for a flood of ids", grown),
    ])
}

/// A page in front of an agent without work.
struct Page {
    site: Site,
    server: Victim,
    address: Address,
    log: PathBuf,
    speech: Speech,
}

impl Page {
    async fn start(field: &Field, line: &str, rights: &[&str], wrapper: &[&str]) -> Result<Self, Trouble> {
        let site = Site::new(field, json!({"responses": [], "default": {"text": "OK."}})).await?;
        let log = site.work().with_file_name("reached.log");
        let speech = site.speech().clone();
        let agent = StandIn::Agent { dialect: speech.spec.id(), log: log.clone() }.command()?;
        let rights = rights.iter().map(|word| (*word).to_owned()).collect();
        let wrapper: Vec<String> = wrapper.iter().map(|word| (*word).to_owned()).collect();
        let argv = [wrapper, site.surface(line, &agent, &[("rights", rights)])].concat();
        let mut server = site.spawn(&argv, speech.clone())?;
        let printed = server.line("the address of the page").await?.unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let address = Address::parse(&printed).ok_or_else(|| {
            Trouble::Ground(format!("the first line of the page's server is no address: {printed}"))
        })?;
        Ok(Self { site, server, address, log, speech })
    }

    /// Checks that the user's own tab gets access and an answer.
    async fn user(&self, id: &str) -> Result<(), Trouble> {
        let mut tab = self.address.tab(id).await?;
        self.asks(&mut tab, id).await.and_then(|answered| match answered {
            true => Ok(()),
            false => Err(Trouble::found("the connection of its user was closed")),
        })
    }

    async fn asks(&self, tab: &mut Tab, id: &str) -> Result<bool, Trouble> {
        let line = self.speech.question(id);
        Ok(tab.send(Message::text(line.trim_end())).await && tab.answered(&self.speech, id).await?)
    }

    async fn end(self) -> Result<(), Trouble> {
        let Self { site, server, .. } = self;
        drop(server);
        site.nothing_is_left().await
    }
}

/// Checks that requests without the token, with another host or from another origin are rejected, and that
/// the user gets access.
async fn door(page: &Page) -> Result<u64, Trouble> {
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
                return Err(Trouble::found(format!(
                    "a stranger comes in ({status}): {} with {}",
                    if path == own { "the address" } else { "another address" },
                    shown.join(", ")
                )));
            }
            count += 1;
        }
    }
    page.user("owner").await?;
    Ok(count)
}

/// Sends frames that hide denied commands.
async fn rights(round: &mut Round, line: &str, read_only: bool) -> Result<u64, Trouble> {
    let speech =
        Speech::of(&round.field.profile.dialect).ok_or_else(|| Trouble::Ground("no dialect".into()))?;
    let acting: Vec<&'static str> =
        speech.spec.commands.iter().filter(|command| !command.reads).map(|command| command.wire).collect();
    let denied = if read_only { speech.starter() } else { acting[round.rng.usize(..acting.len())] };
    let rights: &[&str] = if read_only { &["--read-only"] } else { &["--deny", denied] };
    let page = Page::start(&round.field, line, rights, &[]).await?;
    let mut tab = page.address.tab("hostile").await?;
    // The stand-in sends its question at its first command.
    page.asks(&mut tab, "first").await?;
    for number in 0..FRAMES {
        let id = format!("hostile-{number}");
        let message = frames::hostile(&page.speech, &mut round.rng, denied, &id);
        let shown = format!("{message:?}");
        let check = format!("after-{number}");
        if !(tab.send(message).await && page.asks(&mut tab, &check).await?) {
            // A server may close the connection after such frames.
            tab = page.address.tab("hostile-again").await?;
            page.asks(&mut tab, &format!("{check}-again")).await?;
        }
        let reached = std::fs::read(&page.log).unwrap_or_default();
        if let Some(line) = reached.split(|byte| *byte == b'\n').find(|line| frames::names(line, denied)) {
            return Err(Trouble::found(format!(
                "{} of {rights:?} reached the agent: {} (sent: {shown:.300})",
                denied,
                String::from_utf8_lossy(&line[..line.len().min(200)])
            )));
        }
    }
    page.server.memory_is_bounded(&round.field)?;
    page.user("owner").await?;
    page.end().await?;
    Ok(FRAMES as u64)
}

/// Sends denied commands with long ids: the server must not retain them all.
async fn flood(round: &mut Round, line: &str) -> Result<u64, Trouble> {
    let page = Page::start(&round.field, line, &["--read-only"], &[]).await?;
    let mut tab = page.address.tab("flood").await?;
    page.asks(&mut tab, "first").await?;
    let before = usage::memory(page.server.id()).unwrap_or_default();
    let (key, denied) = (frames::key(&page.speech), page.speech.starter());
    let long = "i".repeat(LONG_ID);
    for number in 0..FLOOD {
        let head = if key == "method" { r#""jsonrpc":"2.0","# } else { "" };
        let frame = format!("{{{head}\"id\":\"{number}-{long}\",\"{key}\":\"{denied}\"}}");
        let open = tab.send(Message::text(frame)).await;
        // Answers are read at intervals, so that they do not accumulate.
        let check = format!("flood-{number}");
        if !open || (number % 50 == 0 && !page.asks(&mut tab, &check).await?) {
            tab = page.address.tab("flood-again").await?;
        }
    }
    if !page.asks(&mut tab, "last").await? {
        page.user("owner").await?;
    }
    let grown = usage::memory(page.server.id()).unwrap_or_default().saturating_sub(before);
    if grown > GROWTH {
        return Err(Trouble::found(format!(
            "{FLOOD} denied commands with ids of {LONG_ID} bytes leave {grown} MiB behind; {GROWTH} are allowed"
        )));
    }
    drop(tab);
    page.end().await?;
    Ok(grown)
}

/// Opens connections with half a request, more than the server's limit of open files.
async fn half_requests(round: &mut Round, line: &str) -> Result<(), Trouble> {
    let page = Page::start(&round.field, line, &[], &["sh", "-c", FILES, "sh"]).await?;
    let mut halves = Vec::new();
    for _ in 0..HALVES {
        match tokio::time::timeout(LONG, page.address.half_request()).await {
            Ok(Ok(stream)) => halves.push(stream),
            // The next step examines a server that accepts no further connections.
            _ => break,
        }
    }
    page.user("owner").await.map_err(|trouble| match trouble {
        Trouble::Found(text) => {
            Trouble::Found(format!("behind {} half requests (256 files): {text}", halves.len()))
        }
        other => other,
    })?;
    drop(halves);
    page.end().await
}
