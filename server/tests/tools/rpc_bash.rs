use std::path::PathBuf;

use agentese_server::tools::{RpcBashError, RpcBashOutput, ToolContext, run_rpc_bash};

use crate::support::{LONG, Place, assert_gone};

async fn run(context: &ToolContext, command: &str) -> Result<RpcBashOutput, RpcBashError> {
    tokio::time::timeout(LONG, run_rpc_bash(context, command, &mut |_| {})).await.expect("the command hangs")
}

#[tokio::test]
async fn results_read_as_recorded() {
    let place = Place::new();
    let context = place.context();
    let cwd = format!("{}\n", place.work().display());
    for (command, output, code) in [
        ("echo hello", "hello\n", 0),
        ("echo out; echo err >&2", "out\nerr\n", 0),
        ("echo no; exit 3", "no\n", 3),
        ("true", "", 0),
        ("printf abc", "abc", 0),
        (r"printf '\033[31mred\033[0m\r\n'", "red\n", 0),
        ("pwd", &cwd, 0),
        ("", "", 0),
    ] {
        let result = run(&context, command).await.unwrap();
        let expected = RpcBashOutput {
            output: output.into(),
            exit_code: Some(code),
            cancelled: false,
            truncated: false,
            full_output_path: None,
        };
        assert_eq!(result, expected, "{command}");
    }
    let result = run(&context, "definitely-not-a-command").await.unwrap();
    assert_eq!(result.exit_code, Some(127));
}

#[tokio::test]
async fn fm_f79_a_signal_is_an_error_with_its_name() {
    let place = Place::new();
    let error = run(&place.context(), "echo before; kill -9 $$").await.unwrap_err();
    assert_eq!(error.to_string(), "command was killed by signal SIGKILL");
    assert_eq!(error.partial().unwrap().output, "before\n");
}

#[tokio::test]
async fn a_start_that_fails_is_an_error() {
    let place = Place::new();
    let mut context = place.context();
    context.shell.program = Some("/nowhere/shell".into());
    let error = run(&context, "pwd").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start /nowhere/shell: ENOENT: no such file or directory");
    let mut context = place.context();
    context.cwd = PathBuf::from("/nowhere/at/all");
    let error = run(&context, "pwd").await.unwrap_err();
    assert!(error.to_string().starts_with("cannot run in the working directory /nowhere/at/all: ENOENT"));
}

#[tokio::test]
async fn commands_run_concurrently_and_an_abort_keeps_their_output() {
    let place = Place::new();
    let context = place.context();
    let abort = context.abort.clone();
    let stop = async {
        // The second command runs and ends during the first one.
        let marker = place.work().join("started");
        let other = place.context();
        while run(&other, "cat started 2>/dev/null").await.unwrap().output.is_empty() {}
        abort.cancel();
        std::fs::read_to_string(marker).unwrap().trim().parse::<i32>().unwrap()
    };
    let (result, pid) =
        tokio::join!(run(&context, "echo start; echo $$ > started; sleep 600; echo end"), stop);
    let result = result.unwrap();
    assert_eq!((result.output.as_str(), result.exit_code, result.cancelled), ("start\n", None, true));
    assert_gone(pid);
}

#[tokio::test]
async fn a_long_output_is_cut_without_a_notice_and_kept_clean() {
    let place = Place::new();
    let command = r"for i in $(seq 1 3000); do printf '\033[1m%s\033[0m\r\n' $i; done";
    let result = run(&place.context(), command).await.unwrap();
    assert!(result.truncated && result.output.starts_with("1002\n") && result.output.ends_with("\n3000\n"));
    let kept = std::fs::read_to_string(result.full_output_path.unwrap()).unwrap();
    assert_eq!(kept, (1..=3000).map(|n| format!("{n}\n")).collect::<String>());
}
