use agentese::types::{InputContent, QueueMode, UserMessage};
use serde_json::Map;

use super::*;

fn message(text: &str) -> UserMessage {
    UserMessage::new(InputContent::Text(text.to_owned()), 0)
}

/// Plays a run and returns one line for each step. An answer is a stop reason and the ids of its calls. `!` marks a
/// call with incomplete arguments, `&` a shared call. `at` is called with the number of each step before it, and
/// returns `true` to abort the run.
fn play(
    queues: &mut Queues,
    answers: &[(StopReason, &[&str])],
    mut at: impl FnMut(usize, &mut Queues) -> bool,
) -> Vec<String> {
    let mut run = AgentLoop::new([message("p")]);
    let mut answers = answers.iter();
    let mut lines: Vec<String> = Vec::new();
    loop {
        assert!(lines.len() < 200, "it does not end: {lines:?}");
        let aborted = at(lines.len(), queues);
        let step = run.next(queues, aborted);
        let line = match step {
            Step::StartRun => "run".to_owned(),
            Step::StartTurn => "turn".to_owned(),
            Step::Inject(AgentMessage::User(UserMessage { content: InputContent::Text(text), .. })) => {
                format!("+{text}")
            }
            Step::Inject(_) => unreachable!(),
            Step::RequestAnswer => {
                let (stop, ids) = answers.next().copied().unwrap_or((StopReason::Stop, &[]));
                let call = |id: &&str| RequestedCall {
                    call: ToolCall::new(id.trim_end_matches(['!', '&']), "tool", Map::new()),
                    unusable: id.ends_with('!').then(|| "cut".to_owned()),
                    shared: id.ends_with('&'),
                };
                run.answered(stop, ids.iter().map(call));
                "ask".to_owned()
            }
            Step::SkipRequest => {
                run.answered(StopReason::Aborted, []);
                "closed".to_owned()
            }
            Step::Call(calls) => {
                let calls = calls.iter().map(|(call, verdict)| format!("{} {verdict:?}", call.id));
                calls.collect::<Vec<_>>().join(" & ")
            }
            Step::EndTurn => "/turn".to_owned(),
            Step::EndRun => "/run".to_owned(),
        };
        let last = line == "/run";
        lines.push(line);
        if last {
            return lines;
        }
    }
}

#[track_caller]
fn check(lines: &[String], expected: &str) {
    assert_eq!(lines.join(" | "), expected);
}

const NEVER: fn(usize, &mut Queues) -> bool = |_, _| false;

#[test]
fn a_plain_run() {
    check(&play(&mut Queues::default(), &[], NEVER), "run | turn | +p | ask | /turn | /run");
}

#[test]
fn calls_run_in_sequence_and_another_request_follows() {
    let answers: &[(StopReason, &[&str])] = &[(StopReason::ToolUse, &["a", "b"]), (StopReason::Stop, &[])];
    check(
        &play(&mut Queues::default(), answers, NEVER),
        "run | turn | +p | ask | a Execute | b Execute | /turn | turn | ask | /turn | /run",
    );
}

#[test]
fn queued_input_while_idle_follows_the_prompt_and_the_answer() {
    let mut queues = Queues::default();
    queues.steer(message("s")).unwrap();
    queues.follow_up(message("f")).unwrap();
    check(
        &play(&mut queues, &[], NEVER),
        "run | turn | +p | +s | ask | /turn | turn | +f | ask | /turn | /run",
    );
}

#[test]
fn queued_input_can_start_a_run() {
    let begin = |queues: &mut Queues| {
        let mut run = AgentLoop::with_queued();
        let steps: Vec<_> = (0..4).map(|_| run.next(queues, false)).collect();
        assert_eq!(steps[..2], [Step::StartRun, Step::StartTurn]);
        (steps[2].clone(), steps[3].clone())
    };
    let mut queues = Queues::default();
    queues.follow_up(message("f1")).unwrap();
    queues.follow_up(message("f2")).unwrap();
    assert_eq!(begin(&mut queues), (Step::Inject(message("f1").into()), Step::RequestAnswer));
    queues.steer(message("s")).unwrap();
    assert_eq!(begin(&mut queues), (Step::Inject(message("s").into()), Step::RequestAnswer));
    assert_eq!(queues.pending(), 1);
}

#[test]
fn steering_skips_the_remaining_calls() {
    let answers: &[(StopReason, &[&str])] = &[(StopReason::ToolUse, &["a", "b", "c"])];
    let steer = |step: usize, queues: &mut Queues| {
        // During the first tool.
        if step == 5 {
            queues.steer(message("s1")).unwrap();
            queues.steer(message("s2")).unwrap();
        }
        false
    };
    check(
        &play(&mut Queues::default(), answers, steer),
        "run | turn | +p | ask | a Execute | b Skip | c Skip | /turn | turn | +s1 | ask | /turn | \
         turn | +s2 | ask | /turn | /run",
    );
    let mut queues = Queues::default();
    queues.set_steering_mode(QueueMode::All);
    check(
        &play(&mut queues, answers, steer),
        "run | turn | +p | ask | a Execute | b Skip | c Skip | /turn | turn | +s1 | +s2 | ask | /turn | /run",
    );
}

#[test]
fn steering_during_text_comes_before_follow_ups_and_the_run_does_not_end_between() {
    let queue = |step: usize, queues: &mut Queues| {
        if step == 4 {
            queues.follow_up(message("f")).unwrap();
            queues.steer(message("s")).unwrap();
        }
        false
    };
    check(
        &play(&mut Queues::default(), &[], queue),
        "run | turn | +p | ask | /turn | turn | +s | ask | /turn | turn | +f | ask | /turn | /run",
    );
}

#[test]
fn a_cut_call_is_not_executed() {
    let answers: &[(StopReason, &[&str])] = &[(StopReason::Length, &["a", "b!"])];
    check(
        &play(&mut Queues::default(), answers, NEVER),
        "run | turn | +p | ask | a Execute | b Refuse(\"cut\") | /turn | turn | ask | /turn | /run",
    );
}

#[test]
fn a_failed_answer_ends_the_run_and_keeps_the_queues() {
    let mut queues = Queues::default();
    queues.follow_up(message("f")).unwrap();
    check(&play(&mut queues, &[(StopReason::Error, &[])], NEVER), "run | turn | +p | ask | /turn | /run");
    // Its calls have errors as their results, if they have results at all.
    let answers: &[(StopReason, &[&str])] = &[(StopReason::Error, &["a"])];
    check(&play(&mut queues, answers, NEVER), "run | turn | +p | ask | a Abort | /turn | /run");
    assert_eq!(queues.pending(), 1);
}

#[test]
fn an_abort_before_any_step_ends_well_and_loses_nothing() {
    let answers: &[(StopReason, &[&str])] =
        &[(StopReason::ToolUse, &["a", "b"]), (StopReason::ToolUse, &["c"]), (StopReason::Stop, &[])];
    let fill = |step: usize, queues: &mut Queues| {
        if step == 0 {
            queues.steer(message("s1")).unwrap();
        }
        if step == 5 {
            queues.steer(message("s2")).unwrap();
            queues.follow_up(message("f")).unwrap();
        }
    };
    let whole = play(&mut Queues::default(), answers, |step, queues| {
        fill(step, queues);
        false
    });
    check(
        &whole,
        "run | turn | +p | +s1 | ask | a Execute | b Skip | /turn | turn | +s2 | ask | c Execute | /turn | \
         turn | ask | /turn | turn | +f | ask | /turn | /run",
    );
    for abort in 0..whole.len() {
        let mut queues = Queues::default();
        let lines = play(&mut queues, answers, |step, queues| {
            fill(step, queues);
            step >= abort
        });
        let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
        let at = format!("abort before step {abort}: {lines:?}");
        assert_eq!((count("turn"), count("run"), count("/run")), (count("/turn"), 1, 1), "{at}");
        assert!(
            !lines[abort.min(lines.len())..].iter().any(|line| line == "ask" || line.ends_with("Execute")),
            "{at}"
        );
        // Every call of every answer has a result.
        let calls = lines.iter().filter(|line| line.contains(' ')).count();
        let expected = [0, 2, 3, 3][count("ask").min(3)];
        assert_eq!(calls, expected, "{at}");
        // A result is never the last message.
        let last = lines.iter().rposition(|line| line.contains(' '));
        let closing = lines.iter().rposition(|line| line == "ask" || line == "closed");
        assert!(last <= closing, "{at}");
        // Undelivered messages are still queued.
        let delivered = lines.iter().filter(|line| matches!(line.as_str(), "+s1" | "+s2" | "+f")).count();
        let queued = if lines.len() > 5 { 3 } else { 1 };
        assert_eq!(queues.pending(), queued - delivered, "{at}");
    }
}

#[test]
fn steering_precedes_the_closing_answer_of_a_run_aborted_during_calls() {
    for (mode, all) in
        [(InterruptMode::Immediate, false), (InterruptMode::Wait, false), (InterruptMode::Wait, true)]
    {
        let mut queues = Queues::default();
        queues.set_interrupt_mode(mode);
        if all {
            queues.set_steering_mode(QueueMode::All);
        }
        let lines = play(&mut queues, &[(StopReason::ToolUse, &["a", "b"])], |step, queues| {
            if step == 5 {
                queues.steer(message("s1")).unwrap();
                queues.steer(message("s2")).unwrap();
                queues.follow_up(message("f")).unwrap();
            }
            step >= 5
        });
        let steered = if all { "+s1 | +s2" } else { "+s1" };
        let rest = if mode == InterruptMode::Immediate { "Skip" } else { "Abort" };
        check(
            &lines,
            &format!(
                "run | turn | +p | ask | a Execute | b {rest} | /turn | turn | {steered} | closed | /turn | /run"
            ),
        );
        assert_eq!(queues.pending(), if all { 1 } else { 2 });
    }
}

#[test]
fn shared_calls_that_follow_each_other_run_side_by_side_and_others_alone() {
    let mut queues = Queues::default();
    let lines = play(&mut queues, &[(StopReason::ToolUse, &["a&", "b&", "c", "d&", "e"])], |_, _| false);
    check(
        &lines,
        "run | turn | +p | ask | a Execute & b Execute | c Execute | d Execute | e Execute | /turn | turn | ask | \
         /turn | /run",
    );
}

#[test]
fn steering_that_waits_is_delivered_at_the_end_of_the_turn() {
    let mut queues = Queues::default();
    queues.set_interrupt_mode(InterruptMode::Wait);
    let lines = play(&mut queues, &[(StopReason::ToolUse, &["a", "b"])], |step, queues| {
        if step == 5 {
            queues.steer(message("s")).unwrap();
        }
        false
    });
    check(&lines, "run | turn | +p | ask | a Execute | b Execute | /turn | turn | +s | ask | /turn | /run");
    queues.set_interrupt_mode(InterruptMode::Immediate);
    let lines = play(&mut queues, &[(StopReason::ToolUse, &["a&", "b&", "c&", "d"])], |step, queues| {
        if step == 5 {
            queues.steer(message("s")).unwrap();
        }
        false
    });
    check(
        &lines,
        "run | turn | +p | ask | a Execute & b Execute & c Execute | d Skip | /turn | turn | +s | ask | /turn | /run",
    );
}

#[test]
fn after_an_abort_no_calls_run_side_by_side() {
    let mut queues = Queues::default();
    let lines = play(&mut queues, &[(StopReason::ToolUse, &["a&", "b&"])], |step, _| step >= 4);
    check(&lines, "run | turn | +p | ask | a Abort | b Abort | /turn | turn | closed | /turn | /run");
}
