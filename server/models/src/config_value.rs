//! Values in `models.json`: keys and headers, as text, as environment variables, or as the output of commands.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::sync::OnceCell;

use super::{ProviderError, ProviderErrorKind};
use crate::config::Environment;
use crate::processes::{CommandLine, Exit, PipedProcess, Spawner};
use crate::runtime::Clock;

/// Time limit for a command that prints a value.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a value in bytes.
const MAX_LENGTH: u64 = 64 * 1024;

/// The source of a value. `!command` means the output of the command. The name of a variable that is set means its
/// value. Any other text is the value itself.
#[derive(Clone)]
pub struct ConfigValue {
    source: ValueSource,
    /// Output of the command. The command runs only once in this process.
    output: Arc<OnceCell<SecretString>>,
}

#[derive(Clone)]
enum ValueSource {
    Known(SecretString),
    Command(String),
}

impl std::fmt::Debug for ConfigValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ConfigValue")
    }
}

impl ConfigValue {
    pub fn new(text: &str, environment: &dyn Environment) -> Self {
        let source = match text.strip_prefix('!') {
            Some(command) => ValueSource::Command(command.to_owned()),
            None => {
                let set = environment.get(text).and_then(|value| OsString::into_string(value).ok());
                ValueSource::Known(
                    set.filter(|value| !value.is_empty()).unwrap_or_else(|| text.to_owned()).into(),
                )
            }
        };
        Self { source, output: Arc::default() }
    }

    /// Returns true if both values come from the same place in a file.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.output, &other.output)
    }

    /// Returns the value. If the value comes from a command, fails if the command fails, prints nothing or takes too
    /// long. The error contains `what` as the name of the value, but neither the command nor its output.
    pub async fn get(&self, what: &str, commands: &CommandRunner) -> Result<SecretString, ProviderError> {
        let command = match &self.source {
            ValueSource::Known(value) => return Ok(value.clone()),
            ValueSource::Command(command) => command,
        };
        let printed = self.output.get_or_try_init(|| async {
            run(command, commands).await.map_err(|reason| {
                let text = format!("The command for {what} in models.json {reason}.");
                ProviderError::new(ProviderErrorKind::Auth, text)
            })
        });
        printed.await.cloned()
    }
}

/// The environment of commands that print values.
#[derive(Clone)]
pub struct CommandRunner {
    pub clock: Arc<dyn Clock>,
    /// Starts the commands. With a guard process, each command ends with this process at the latest.
    pub spawner: Arc<dyn Spawner>,
}

/// Runs a shell command and returns its output without surrounding white space.
async fn run(command: &str, commands: &CommandRunner) -> Result<SecretString, String> {
    let line = CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        cwd: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        environment: Vec::new(),
        hidden: Vec::new(),
    };
    let started = commands.spawner.spawn_piped(&line).await;
    let PipedProcess { input, output, mut errors, process: mut running } =
        started.map_err(|error| format!("cannot be started: {error}"))?;
    drop(input);
    let mut printed = String::new();
    let outcome = {
        let finished = async {
            let read = output.take(MAX_LENGTH).read_to_string(&mut printed).await;
            (read, running.wait().await)
        };
        // Its errors are discarded, so that they do not block the command.
        let unheard = async {
            let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
            std::future::pending::<()>().await;
        };
        let (finished, unheard) = (std::pin::pin!(finished), std::pin::pin!(unheard));
        match select(finished, select(unheard, commands.clock.sleep(COMMAND_TIMEOUT))).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(_) => None,
        }
    };
    // Remaining child processes of the command end with it.
    running.end().await;
    match outcome {
        Some((Ok(_), Ok(Exit::Code(0)))) => {}
        Some((_, Ok(Exit::Code(code)))) if code != 0 => return Err(format!("failed (exit code {code})")),
        Some((_, Ok(Exit::Signal(signal)))) => return Err(format!("failed (signal {signal})")),
        Some((_, Err(error))) => return Err(format!("was lost: {error}")),
        Some((Err(_), _)) => return Err("printed text that is not UTF-8".to_owned()),
        _ => return Err(format!("takes longer than {} s", COMMAND_TIMEOUT.as_secs())),
    }
    let value: SecretString = printed.trim().into();
    if value.expose_secret().is_empty() { Err("printed nothing".to_owned()) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;
    use crate::processes::LocalSpawner;
    use crate::runtime::SystemClock;

    fn commands(clock: impl Clock + 'static) -> CommandRunner {
        CommandRunner { clock: Arc::new(clock), spawner: Arc::new(LocalSpawner::new(None)) }
    }

    async fn get(text: &str) -> Result<String, String> {
        let environment = |name: &str| (name == "A_KEY").then(|| OsString::from("from the environment"));
        let value = ConfigValue::new(text, &environment).get("the key", &commands(SystemClock)).await;
        value.map(|value| value.expose_secret().to_owned()).map_err(|failure| failure.text)
    }

    #[tokio::test]
    async fn values_are_literal_from_the_environment_or_printed() {
        assert_eq!(get("literal").await.unwrap(), "literal");
        assert_eq!(get("A_KEY").await.unwrap(), "from the environment");
        assert_eq!(get("!printf ' canary\n'").await.unwrap(), "canary");
        let failed = get("!echo canary; exit 3").await.unwrap_err();
        assert!(failed.contains("the key") && failed.contains('3') && !failed.contains("canary"), "{failed}");
        assert!(get("!true").await.unwrap_err().contains("printed nothing"));
    }

    #[tokio::test]
    async fn a_command_runs_once() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let value = ConfigValue::new(&format!("!echo x >> {0}; wc -l < {0}", log.display()), &|_: &str| None);
        for _ in 0..3 {
            assert_eq!(value.get("it", &commands(SystemClock)).await.unwrap().expose_secret(), "1");
        }
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_ended() {
        /// A clock whose waits end at once.
        struct InstantClock;
        impl Clock for InstantClock {
            fn now_ms(&self) -> i64 {
                0
            }
            fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
                futures::future::ready(()).boxed()
            }
        }
        let value = ConfigValue::new("!sleep 1000 & sleep 1000", &|_: &str| None);
        let failure = value.get("it", &commands(InstantClock)).await.unwrap_err();
        assert!(failure.text.contains("longer than 10 s"), "{}", failure.text);
    }
}
