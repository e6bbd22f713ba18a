//! Attack: opens many sessions on one connection, and one session in two processes.

use serde_json::{Map, Value, json};

use super::abort::run;
use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::codec::{DialectCodec, fields};
use super::{Attack, AttackContext, AttackError, AttackFindings, Counts, usage};
use crate::matching::Rules;
use crate::matching::tables::{Command, Ty};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "opal",
    description: "many sessions, one session in two processes, invalid parameters: few threads and files, no loss, each rejected",
    run: |context| Box::pin(attack(context)),
};

/// Minimum number of sessions. The attack opens more if there is time.
const SESSIONS: u64 = 80;
/// Maximum number of sessions in one process.
const MAX_SESSIONS: u64 = 1000;
/// Maximum number of threads of a process, and also of its open descriptors, for any number of idle sessions.
const RESOURCE_LIMIT: u64 = 64;
/// A directory that does not exist.
const MISSING_DIRECTORY: &str = "/no/such/directory";

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let script = json!({"responses": [], "default": {"text": "OK."}});
    let env = AttackEnv::new(&context.config, script).await?;
    let Some((opener, member)) = env.codec().open_command() else {
        return Err(AttackError::NotApplicable("the dialect has one session per connection".to_owned()));
    };
    let mut found = AttackFindings::default();
    let refused = odd_parameters(context, &env, opener, member).await;
    let refused = found.record(refused)?.unwrap_or_default();
    found.record(one_session_in_two_processes(&env, opener, member).await)?;
    let sessions = found.record(open_sessions(context, &env, opener, member).await)?.unwrap_or_default();
    found.record(env.check_no_processes().await)?;
    found.finish(vec![("sessions", sessions), ("odd parameters", refused)])
}

/// Opens many sessions and prompts each once. Returns their number.
async fn open_sessions(
    context: &AttackContext,
    env: &AttackEnv,
    opener: &Command,
    member: &str,
) -> Result<u64, AttackError> {
    let mut agent = env.start().await?;
    let mut sessions = 0;
    while sessions < SESSIONS || (sessions < MAX_SESSIONS && context.has_time()) {
        let id = format!("session-{sessions}");
        open_session(&mut agent, &id, opener, member, &id).await?;
        run(&mut agent, &format!("run-{sessions}")).await?;
        sessions += 1;
        if sessions.is_multiple_of(SESSIONS) {
            check_resources(&agent, sessions)?;
        }
    }
    agent.check_memory(&context.config)?;
    agent.finish(LONG).await?;
    Ok(sessions)
}

fn check_resources(agent: &AgentUnderTest, sessions: u64) -> Result<(), AttackError> {
    let pid = agent.id();
    let taken = [("threads", usage::threads(pid)), ("descriptors", usage::descriptors(pid))];
    let many = taken.into_iter().filter_map(|(what, taken)| {
        let taken = taken.filter(|taken| *taken > RESOURCE_LIMIT)?;
        Some(format!("{taken} {what}"))
    });
    let many: Vec<String> = many.collect();
    if many.is_empty() {
        return Ok(());
    }
    let many = many.join(" and ");
    Err(AttackError::finding(format!("{sessions} idle sessions use {many}; the limit is {RESOURCE_LIMIT}")))
}

/// Opens a session by its name and uses it from then on. Returns `true` if the agent opened it.
async fn open_session(
    agent: &mut AgentUnderTest,
    id: &str,
    opener: &Command,
    member: &str,
    name: &str,
) -> Result<bool, AttackError> {
    // The connection's own encoder would add the id of its first session.
    let fresh = DialectCodec::of(&agent.codec.spec.id()).unwrap_or_else(|| agent.codec.clone());
    let line = fresh.line(id, opener.wire, Map::from_iter([(member.to_owned(), json!(name))]));
    let answer = agent.request(id, line).await?;
    let opened = agent.answers.get(id) == Some(&[1, 0]);
    if opened {
        agent.codec.set_session(&answer);
    }
    Ok(opened)
}

/// Opens the same session in two processes. If the agent lets the second process open it, a third process
/// must see the entries of both.
async fn one_session_in_two_processes(
    env: &AttackEnv,
    opener: &Command,
    member: &str,
) -> Result<(), AttackError> {
    let mut first = env.start().await?;
    let mut second = env.start().await?;
    if !open_session(&mut first, "one", opener, member, "one").await? {
        return Err(AttackError::finding("the agent did not open a session with a name from the client"));
    }
    if open_session(&mut second, "one", opener, member, "one").await? {
        for (agent, text) in [(&mut first, "TEXT-OF-A"), (&mut second, "TEXT-OF-B")] {
            let prompt = agent.codec.prompt("say", text);
            agent.request("say", prompt).await?;
            super::abort::wait_until_idle(agent, "say").await?;
        }
    }
    let both = second.answers.contains_key("say");
    first.finish(LONG).await?;
    second.finish(LONG).await?;
    if both {
        let mut third = env.start().await?;
        open_session(&mut third, "one", opener, member, "one").await?;
        let Some(question) = third.codec.history("history") else { return Ok(()) };
        let history = third.request("history", question).await?;
        for text in ["TEXT-OF-A", "TEXT-OF-B"] {
            if memchr::memmem::find(&history, text.as_bytes()).is_none() {
                return Err(AttackError::finding(format!(
                    "after prompts of two processes in one session, its history lacks {text}"
                )));
            }
        }
        third.finish(LONG).await?;
    }
    env.check_no_processes().await
}

/// Opens sessions with wrong types of declared parameters, and starts a run in an unknown session. The agent
/// must reject all of these requests.
async fn odd_parameters(
    context: &mut AttackContext,
    env: &AttackEnv,
    opener: &Command,
    member: &str,
) -> Result<u64, AttackError> {
    let mut agent = env.start().await?;
    let record = opener.params.and_then(Rules::named).and_then(|def| fields(&def.shape)).unwrap_or_default();
    let mut odd: Vec<(String, Value)> = Vec::new();
    for field in record {
        let values = invalid_values(&field.ty);
        if !values.is_empty() {
            odd.push((field.name.to_owned(), values[context.rng.usize(..values.len())].clone()));
        }
        if field.ty == Ty::String && field.name.ends_with("dir") {
            odd.push((field.name.to_owned(), json!(MISSING_DIRECTORY)));
        }
    }
    let fresh = env.codec().clone();
    let mut accepted = Vec::new();
    for (number, (name, value)) in odd.iter().enumerate() {
        let id = format!("odd-{number}");
        let line = fresh.line(&id, opener.wire, Map::from_iter([(name.clone(), value.clone())]));
        agent.request(&id, line).await?;
        if agent.answers.get(&id) != Some(&[0, 1]) {
            accepted.push(format!("`{name}` {value}"));
        }
    }
    if !accepted.is_empty() {
        return Err(AttackError::finding(format!(
            "the agent opened a session with invalid {}",
            accepted.join(", ")
        )));
    }
    let mut unknown_session = agent.codec.clone();
    unknown_session.set_session(json!({"result": {member: "nobody-opened-this"}}).to_string().as_bytes());
    let prompt = unknown_session.prompt("stranger", "go");
    agent.request("stranger", prompt).await?;
    if agent.answers.get("stranger") != Some(&[0, 1]) {
        return Err(AttackError::finding("the agent started a run in an unknown session"));
    }
    agent.check_responsive("well").await?;
    agent.finish(LONG).await?;
    Ok(odd.len() as u64 + 1)
}

/// Returns values that the type does not allow.
fn invalid_values(ty: &Ty) -> Vec<Value> {
    match ty {
        Ty::String => vec![json!(5), json!(["a"]), json!({"a": 1}), json!(true)],
        Ty::Boolean => vec![json!("yes"), json!(1), json!([])],
        Ty::List(_) => vec![json!("a"), json!(5), json!({"a": 1})],
        Ty::Object | Ty::Map(_) | Ty::Named(_) => vec![json!(5), json!("a"), json!([1])],
        _ => Vec::new(),
    }
}
