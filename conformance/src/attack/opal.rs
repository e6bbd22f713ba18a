//! Many sessions of one connection, and two processes with one session.

use serde_json::{Map, Value, json};

use super::abort::run;
use super::speech::{Speech, fields};
use super::victim::{LONG, Site, Victim};
use super::{Attack, Counts, Findings, Round, Trouble, usage};
use crate::matching::Rules;
use crate::matching::tables::{Command, Ty};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "opal",
    says: "many sessions, one session in two processes, odd parameters: few threads and files, nothing lost, refused",
    carry_out: |round| Box::pin(attack(round)),
};

/// Minimum number of sessions; with more time, more sessions are opened.
const SESSIONS: u64 = 80;
/// Maximum number of sessions in one process.
const MOST: u64 = 1000;
/// Maximum number of threads, and of descriptors, of a process with any number of idle sessions.
const BOUND: u64 = 64;
/// A directory that does not exist.
const NOWHERE: &str = "/no/such/directory";

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let script = json!({"responses": [], "default": {"text": "OK."}});
    let site = Site::new(&round.field, script).await?;
    let Some((opener, member)) = site.speech().opener() else {
        return Err(Trouble::NotHere("a connection of this dialect has one session".to_owned()));
    };
    let mut found = Findings::default();
    let refused = odd_parameters(round, &site, opener, member).await;
    let refused = found.note(refused)?.unwrap_or_default();
    found.note(one_session_in_two_processes(&site, opener, member).await)?;
    let sessions = found.note(many(round, &site, opener, member).await)?.unwrap_or_default();
    found.note(site.nothing_is_left().await)?;
    found.or(vec![("sessions", sessions), ("odd parameters", refused)])
}

/// Opens many sessions and prompts each once. Returns their number.
async fn many(round: &Round, site: &Site, opener: &Command, member: &str) -> Result<u64, Trouble> {
    let mut victim = site.start().await?;
    let mut sessions = 0;
    while sessions < SESSIONS || (sessions < MOST && round.goes_on()) {
        let id = format!("session-{sessions}");
        named(&mut victim, &id, opener, member, &id).await?;
        run(&mut victim, &format!("run-{sessions}")).await?;
        sessions += 1;
        if sessions.is_multiple_of(SESSIONS) {
            is_small(&victim, sessions)?;
        }
    }
    victim.memory_is_bounded(&round.field)?;
    victim.finish(LONG).await?;
    Ok(sessions)
}

fn is_small(victim: &Victim, sessions: u64) -> Result<(), Trouble> {
    let pid = victim.id();
    let taken = [("threads", usage::threads(pid)), ("descriptors", usage::descriptors(pid))];
    let many = taken.into_iter().filter_map(|(what, taken)| {
        let taken = taken.filter(|taken| *taken > BOUND)?;
        Some(format!("{taken} {what}"))
    });
    let many: Vec<String> = many.collect();
    if many.is_empty() {
        return Ok(());
    }
    let many = many.join(" and ");
    Err(Trouble::found(format!(
        "{sessions} sessions that were prompted once hold {many}; {BOUND} are allowed"
    )))
}

/// Opens a session by its name and uses it from then on. Returns `true` if the agent opened it.
async fn named(
    victim: &mut Victim,
    id: &str,
    opener: &Command,
    member: &str,
    name: &str,
) -> Result<bool, Trouble> {
    // The existing encoder of this connection would add its first session.
    let fresh = Speech::of(&victim.speech.spec.id()).unwrap_or_else(|| victim.speech.clone());
    let line = fresh.line(id, opener.wire, Map::from_iter([(member.to_owned(), json!(name))]));
    let answer = victim.ask(id, line).await?;
    let opened = victim.answers.get(id) == Some(&[1, 0]);
    if opened {
        victim.speech.opened(&answer);
    }
    Ok(opened)
}

/// Opens one session in two processes. The agent must reject the second one, or a third process must see the
/// entries of both.
async fn one_session_in_two_processes(site: &Site, opener: &Command, member: &str) -> Result<(), Trouble> {
    let mut first = site.start().await?;
    let mut second = site.start().await?;
    if !named(&mut first, "one", opener, member, "one").await? {
        return Err(Trouble::found("a session with a name of the client's was not opened"));
    }
    if named(&mut second, "one", opener, member, "one").await? {
        for (victim, text) in [(&mut first, "TEXT-OF-A"), (&mut second, "TEXT-OF-B")] {
            let prompt = victim.speech.prompt("say", text);
            victim.ask("say", prompt).await?;
            super::abort::settled(victim, "say").await?;
        }
    }
    let both = second.answers.contains_key("say");
    first.finish(LONG).await?;
    second.finish(LONG).await?;
    if both {
        let mut third = site.start().await?;
        named(&mut third, "one", opener, member, "one").await?;
        let Some(question) = third.speech.history("history") else { return Ok(()) };
        let history = third.ask("history", question).await?;
        for text in ["TEXT-OF-A", "TEXT-OF-B"] {
            if memchr::memmem::find(&history, text.as_bytes()).is_none() {
                return Err(Trouble::found(format!(
                    "two processes opened one session and both were prompted; its history lacks {text}"
                )));
            }
        }
        third.finish(LONG).await?;
    }
    site.nothing_is_left().await
}

/// Opens sessions with a declared parameter of another type, and starts a run in an unknown session: the
/// agent must reject all of them.
async fn odd_parameters(
    round: &mut Round,
    site: &Site,
    opener: &Command,
    member: &str,
) -> Result<u64, Trouble> {
    let mut victim = site.start().await?;
    let record = opener.params.and_then(Rules::named).and_then(|def| fields(&def.shape)).unwrap_or_default();
    let mut odd: Vec<(String, Value)> = Vec::new();
    for field in record {
        let values = wrong(&field.ty);
        if !values.is_empty() {
            odd.push((field.name.to_owned(), values[round.rng.usize(..values.len())].clone()));
        }
        if field.ty == Ty::String && field.name.ends_with("dir") {
            odd.push((field.name.to_owned(), json!(NOWHERE)));
        }
    }
    let fresh = site.speech().clone();
    let mut accepted = Vec::new();
    for (number, (name, value)) in odd.iter().enumerate() {
        let id = format!("odd-{number}");
        let line = fresh.line(&id, opener.wire, Map::from_iter([(name.clone(), value.clone())]));
        victim.ask(&id, line).await?;
        if victim.answers.get(&id) != Some(&[0, 1]) {
            accepted.push(format!("`{name}` {value}"));
        }
    }
    if !accepted.is_empty() {
        return Err(Trouble::found(format!("a session was opened with {}", accepted.join(", "))));
    }
    let mut stranger = victim.speech.clone();
    stranger.opened(json!({"result": {member: "nobody-opened-this"}}).to_string().as_bytes());
    let prompt = stranger.prompt("stranger", "go");
    victim.ask("stranger", prompt).await?;
    if victim.answers.get("stranger") != Some(&[0, 1]) {
        return Err(Trouble::found("a run began in a session that nobody opened"));
    }
    victim.is_well("well").await?;
    victim.finish(LONG).await?;
    Ok(odd.len() as u64 + 1)
}

/// Returns values that a type does not allow.
fn wrong(ty: &Ty) -> Vec<Value> {
    match ty {
        Ty::String => vec![json!(5), json!(["a"]), json!({"a": 1}), json!(true)],
        Ty::Boolean => vec![json!("yes"), json!(1), json!([])],
        Ty::List(_) => vec![json!("a"), json!(5), json!({"a": 1})],
        Ty::Object | Ty::Map(_) | Ty::Named(_) => vec![json!(5), json!("a"), json!([1])],
        _ => Vec::new(),
    }
}
