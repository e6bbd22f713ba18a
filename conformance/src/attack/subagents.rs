//! Attack: starts subagents that fail, are aborted, or change the repository in which they work.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::codec::LineKind;
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "subagents",
    description: "subagents that fail, change the repository or are aborted: the user's repository is unchanged, nothing is left",
    run: |context| Box::pin(attack(context)),
};

/// The tool that starts subagents, and the tool that submits a result.
const TOOL: &str = "task";
const RESULT: &str = "submit_result";

/// A repository with all features of git that run programs or complicate copies: hooks, filters, a nested
/// repository, untracked files.
const SETUP: &str = r#"git init -q -b main .
git config user.name user; git config user.email user@example.com
printf 'one\n' > tracked.txt
git add -A; git commit -q -m first
printf '#!/bin/sh\ntouch hook-ran\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
printf 'two\n' >> tracked.txt; printf 'new\n' > untracked.txt
git init -q -b main sub; git -C sub -c user.name=u -c user.email=u@example.com commit -q --allow-empty -m sub"#;

/// An additional git filter. An agent may refuse to run it; it then starts no subagent.
const FILTER: &str = r"git config filter.noisy.clean cat; git config filter.noisy.smudge cat
printf '*.txt filter=noisy\n' > .gitattributes; git add .gitattributes; git commit -q -m filter";

/// Shell commands with which subagents change the user's data.
const MEDDLING: [&str; 6] = [
    "git branch meddled; git tag meddled",
    "git config meddled.with yes",
    "d=$(git rev-parse --git-path hooks); mkdir -p \"$d\"; echo 'exit 1' > \"$d/pre-commit\"",
    "git update-ref refs/meddled HEAD; git stash list; git gc -q || true",
    "git commit -q --allow-empty -m meddled; git checkout -q -b other",
    "sleep 60 & git worktree add -f ../meddled || true",
];

/// Maximum number of subagents that are started in one repository.
const DELEGATIONS: usize = 8;

/// Returns responses of subagents that fail.
fn failing_responses() -> [Value; 4] {
    [
        json!({"blocks": [{"tool": {"name": RESULT, "args": {"result": {"error": "cannot be done"}}}}]}),
        json!({"error": {"status": 400, "type": "invalid_request_error", "message": "no"}}),
        json!({"blocks": [{"text": "I give up."}]}),
        json!({"blocks": [{"tool": {"name": RESULT, "args": {"result": 5}}}]}),
    ]
}

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let Some(arguments) = context.config.surfaces.subagents.clone() else {
        return Err(AttackError::NotApplicable("--subagents is not given".to_owned()));
    };
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let (mut failures, mut aborts, mut asked) = (0, 0, 0);
    while failures == 0 || context.has_time() {
        let place = TestRepository::new(context, &arguments).await?;
        let mut subject = place.start().await?;
        let events = delegate(&mut subject, "whole", None).await?;
        place.check_untouched("a subagent that failed")?;
        failures += 1;
        for number in 0..events.min(6) {
            let at = context.rng.u64(..events);
            delegate(&mut subject, &format!("aborted-{number}"), Some(at)).await?;
            place.check_untouched(&format!("an abort after event {at}"))?;
            aborts += 1;
            if number >= 1 && !context.has_time() {
                break;
            }
        }
        super::abort::run(&mut subject, "again").await?;
        subject.check_memory(&context.config)?;
        subject.finish(LONG).await?;
        place.site.check_no_processes().await?;
        place.check_untouched("the end of the agent")?;
        place.check_no_copies()?;
        asked += place.subagent_requests();
    }
    Ok(vec![("delegations that failed", failures), ("aborts", aborts), ("requests of subagents", asked)])
}

/// A repository with an agent in it.
struct TestRepository {
    site: AttackEnv,
    before: BTreeMap<String, Vec<u8>>,
    arguments: Vec<String>,
}

impl TestRepository {
    async fn new(attack_context: &mut AttackContext, arguments: &[String]) -> Result<Self, AttackError> {
        let meddling = MEDDLING[attack_context.rng.usize(..MEDDLING.len())];
        let mut last = failing_responses()[attack_context.rng.usize(..4)].clone();
        last["when"] = json!({"user": "SUBJOB", "tool_results": true});
        let codec = super::codec::DialectCodec::of(&attack_context.config.profile.dialect);
        let shell = codec.map_or("", |codec| codec.shell_tool());
        let tasks = json!([{"id": "Sub", "description": "d", "assignment": "SUBJOB go"}]);
        let task = json!({"agent": TOOL, "context": "c", "tasks": tasks, "isolated": true});
        let mut responses = json!([
            {"when": {"user": "delegate", "tool_results": false}, "keep": true,
             "blocks": [{"tool": {"name": TOOL, "args": task}}]},
            {"when": {"user": "SUBJOB", "tool_results": false}, "keep": true,
             "blocks": [{"tool": {"name": shell, "args": {"command": meddling}}}]},
        ]);
        // The last response is repeated for each subagent, because a subagent that repeats a rejected call
        // would never end.
        responses.as_array_mut().expect("a list").extend(std::iter::repeat_n(last, DELEGATIONS));
        let script = json!({"responses": responses, "default": {"text": "OK."}});
        let setup = if attack_context.rng.u8(..4) == 0 { vec![SETUP, FILTER] } else { vec![SETUP] };
        let more = json!({"setup": setup, "settings": {"task": {"isolation": {"mode": "worktree"}}}});
        let env = AttackEnv::with(&attack_context.config, script, more).await?;
        let before = snapshot(&env.work().join(".git"));
        Ok(Self { site: env, before, arguments: arguments.to_vec() })
    }

    /// Starts the agent and checks that it offers the tool to its model.
    async fn start(&self) -> Result<AgentUnderTest, AttackError> {
        let mut subject = self.site.start_with(&self.arguments).await?;
        super::abort::run(&mut subject, "offered").await?;
        let requests = self.site.requests();
        if !requests.iter().any(|request| request.tools.iter().any(|tool| tool == TOOL)) {
            return Err(AttackError::NotApplicable(format!(
                "the agent does not offer its model the tool `{TOOL}`"
            )));
        }
        Ok(subject)
    }

    /// Checks that references, settings and hooks of the user's repository are unchanged.
    fn check_untouched(&self, after: &str) -> Result<(), AttackError> {
        let now = snapshot(&self.site.work().join(".git"));
        let names = self.before.keys().chain(now.keys());
        let mut changed: Vec<&str> =
            names.filter(|name| self.before.get(*name) != now.get(*name)).map(String::as_str).collect();
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        Err(AttackError::finding(format!(
            "after {after}, the user's .git has changed: {}",
            changed.join(", ")
        )))
    }

    /// Returns the number of requests of subagents to the model.
    fn subagent_requests(&self) -> u64 {
        let is_theirs = |body: &str| body.contains("SUBJOB go") && !body.contains("delegate");
        let requests = self.site.requests();
        let bodies = requests.iter().filter_map(|request| serde_json::to_string(&request.messages).ok());
        bodies.filter(|body| is_theirs(body)).count() as u64
    }

    fn check_no_copies(&self) -> Result<(), AttackError> {
        let home = self.site.home().map(Path::new).unwrap_or_else(|| self.site.work());
        match find_copy(home, 6) {
            Some(left) => Err(AttackError::finding(format!("a copy of the repository is left: {left}"))),
            None => Ok(()),
        }
    }
}

/// Starts subagents, and aborts the run after `at` events. Returns the number of events.
async fn delegate(agent: &mut AgentUnderTest, id: &str, at: Option<u64>) -> Result<u64, AttackError> {
    agent.send(agent.codec.prompt(id, "delegate"));
    let ends = agent.codec.spec.run_end.answer_ends;
    let (mut events, mut answered) = (0, false);
    agent
        .read_until(&format!("the end of {id}"), |codec, received| {
            answered |= received.answers(id);
            let LineKind::Event(name) = &received.kind else { return ends && answered };
            events += 1;
            at.is_some_and(|at| events > at) || (!ends && codec.may_end(name))
        })
        .await?;
    if at.is_some() {
        let stop = format!("{id}-stop");
        let line = agent.codec.stop(&stop);
        agent.request(&stop, line).await?;
    }
    if !agent.answers.contains_key(id) {
        agent.read_until(&format!("the answer to {id}"), |_, received| received.answers(id)).await?;
    }
    super::abort::wait_until_idle(agent, id).await?;
    Ok(events)
}

/// Returns the contents of the files of a repository that a subagent must not change: settings, `HEAD`,
/// references, hooks, worktrees, and the folder `info`.
fn snapshot(git: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![git.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(git).unwrap_or(&path).to_string_lossy().into_owned();
            let is_kept = ["refs", "hooks", "info", "worktrees"].iter().any(|kept| name.starts_with(kept));
            if path.is_dir() {
                if is_kept {
                    folders.push(path);
                }
            } else if is_kept || ["config", "HEAD", "packed-refs"].contains(&name.as_str()) {
                all.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    all
}

/// Returns the path of a copy of a repository, found through a folder `worktrees` at most `depth` levels
/// below `folder`. Returns `None` if there is no copy.
fn find_copy(folder: &Path, depth: usize) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.iter().find_map(|path| {
        if path.file_name().is_some_and(|name| name == "worktrees") {
            let first = std::fs::read_dir(path).ok()?.flatten().next()?;
            return Some(first.path().to_string_lossy().into_owned());
        }
        depth.checked_sub(1).and_then(|depth| find_copy(path, depth))
    })
}
