//! Tests of connections to a server: timeouts, proxies, certificates.

use std::sync::Arc;
use std::time::Duration;

use agentese_server::config::{NetworkSettings, ProxyUrl, TimeLimit};
use agentese_server::providers::{Catalog, ProviderErrorKind, Settings};
use agentese_server::runtime::{Clock, SystemClock};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

use crate::support::{
    APIS, Reply, Server, TestHome, answer_events, definition, failure, hello, model, question, soon, text,
};

/// Returns the catalogue of a home with these network settings.
fn catalog(home: &TestHome, network: &NetworkSettings) -> Catalog {
    let variables = home.variables.clone();
    let environment =
        move |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.into());
    let (settings, warnings) = Settings::default().with_network(network, &environment);
    assert_eq!(warnings, []);
    let (catalog, _) = home.load_with(|sources| {
        sources.settings = settings;
        sources.clock = Arc::new(SystemClock);
    });
    catalog
}

fn idle(limit: u64) -> NetworkSettings {
    NetworkSettings { idle_timeout: Some(TimeLimit(limit)), ..NetworkSettings::default() }
}

#[tokio::test]
async fn unresponsive_server_times_out_with_the_limit_in_the_error() {
    let expected = |limit: &str| {
        format!(
            "The provider timed out: no data arrived for {limit} s. The setting httpIdleTimeoutMs sets this limit."
        )
    };
    for api in APIS {
        let whole = hello(api);
        let beginning = whole.split_inclusive("\n\n").next().unwrap();
        for reply in [
            Reply::silence(),
            Reply::beginning(": ping\n\n").then_hang(),
            Reply::beginning(beginning).then_hang(),
        ] {
            let server = Server::start([reply]).await;
            let home = TestHome::with_models(definition(api, &server.url()));
            // The answer of Google is complete after its first event, except for the end of the stream.
            let catalog = catalog(&home, &idle(50));
            let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
            assert_eq!((failure.kind, failure.text), (ProviderErrorKind::Network, expected("0.05")), "{api}");
        }
    }
    let server = Server::start([Reply::silence()]).await;
    let home =
        TestHome::with_models(definition(APIS[1], &server.url())).set("AGENTESE_HTTP_IDLE_TIMEOUT_MS", "70");
    let catalog = catalog(&home, &idle(3_600_000));
    assert_eq!(
        failure(&answer_events(&catalog, question(model(&catalog), "hi")).await).text,
        expected("0.07")
    );
}

/// A clock that a test moves. A wait ends when the clock has moved by its duration.
#[derive(Default)]
struct MovedClock {
    now: watch::Sender<Duration>,
    waits: watch::Sender<usize>,
}

impl Clock for MovedClock {
    fn now_ms(&self) -> i64 {
        1_795_305_600_000
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        let end = now.borrow().saturating_add(duration);
        self.waits.send_modify(|waits| *waits += 1);
        async move { drop(now.wait_for(|now| *now >= end).await) }.boxed()
    }
}

#[tokio::test]
async fn stalled_upload_times_out_and_a_slow_one_does_not() {
    // Each step exceeds the system's buffers of a connection.
    const STEP: usize = 5 << 20;
    const STEPS: usize = 4;
    for stalls in [false, true] {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let clock = Arc::new(MovedClock::default());
        let home = TestHome::with_models(definition(APIS[1], &url));
        let (catalog, _) = home.load_with(|sources| sources.clock = clock.clone());
        let pass = |seconds| clock.now.send_modify(|now| *now += Duration::from_secs(seconds));
        let answer = answer_events(&catalog, question(model(&catalog), &"x".repeat(STEP * (STEPS + 3))));
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut part = vec![0; STEP];
            for _ in 0..STEPS {
                let before = *clock.waits.borrow();
                stream.read_exact(&mut part).await.unwrap();
                soon(clock.waits.subscribe().wait_for(|waits| *waits > before)).await.unwrap();
                pass(200);
            }
            if stalls {
                loop {
                    tokio::task::yield_now().await;
                    pass(301);
                }
            }
            let mut end = Vec::new();
            while !end.ends_with(b"}") {
                end.clear();
                stream.read_buf(&mut end).await.unwrap();
            }
            stream.write_all(Reply::events(&hello(APIS[1])).bytes()).await.unwrap();
            std::future::pending::<()>().await;
        };
        let events = tokio::select! {
            events = answer => events,
            () = served => unreachable!("the server does not end"),
        };
        match stalls {
            true => assert!(failure(&events).text.starts_with("The provider timed out: ")),
            false => assert_eq!(text(&events), "hello"),
        }
    }
}

#[tokio::test]
async fn connect_times_out_with_the_limit_in_the_error() {
    // The listener accepts connections and never sends data, so that no TLS handshake begins.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let network = NetworkSettings { connect_timeout: Some(TimeLimit(50)), ..NetworkSettings::default() };
    for (variable, limit) in [("", "0.05"), ("80", "0.08")] {
        let home = TestHome::with_models(definition(APIS[1], &address))
            .set("AGENTESE_HTTP_CONNECT_TIMEOUT_MS", variable);
        let catalog = catalog(&home, &network);
        let mut request = question(model(&catalog), "hi");
        request.may_retry = false;
        let failure = failure(&answer_events(&catalog, request).await);
        assert_eq!(failure.kind, ProviderErrorKind::Network);
        let expected = format!(
            "No connection was made within {limit} s, the limit of the setting httpConnectTimeoutMs."
        );
        assert!(
            failure.text.starts_with("Connection error: ") && failure.text.ends_with(&expected),
            "{}",
            failure.text
        );
    }
}

#[test]
fn limits_may_be_disabled_and_invalid_limits_are_reported() {
    let limits = |value: &'static str, setting: Option<TimeLimit>| {
        let environment = move |name: &str| (name == "AGENTESE_HTTP_IDLE_TIMEOUT_MS").then(|| value.into());
        let network = NetworkSettings { idle_timeout: setting, ..NetworkSettings::default() };
        let (settings, warnings) = Settings::default().with_network(&network, &environment);
        (settings.idle_timeout, warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let seconds = Duration::from_secs;
    assert_eq!(limits("", None), (seconds(300), vec![]));
    assert_eq!(limits("", Some(TimeLimit(5000))), (seconds(5), vec![]));
    assert_eq!(limits("7000", Some(TimeLimit(5000))), (seconds(7), vec![]));
    for none in ["0", "disabled"] {
        assert_eq!(limits(none, Some(TimeLimit(5000))), (Duration::MAX, vec![]));
    }
    for wrong in ["soon", "-1", "1.5"] {
        let warning = "the environment: AGENTESE_HTTP_IDLE_TIMEOUT_MS is neither a number of milliseconds nor \"disabled\"; it is ignored";
        assert_eq!(limits(wrong, Some(TimeLimit(5000))), (seconds(5), vec![warning.to_owned()]));
    }
}

#[tokio::test]
async fn a_limit_that_is_disabled_stops_nothing() {
    let server = Server::start([Reply::events(&hello(APIS[1]))]).await;
    let home = TestHome::with_models(definition(APIS[1], &server.url()));
    let none = Some(TimeLimit(0));
    let network = NetworkSettings { connect_timeout: none, idle_timeout: none, ..NetworkSettings::default() };
    let catalog = catalog(&home, &network);
    assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello");
}

#[tokio::test]
async fn a_proxy_of_the_settings_is_used_as_is_one_of_the_environment_in_either_case() {
    for name in ["", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        let proxy = Server::start([Reply::events(&hello(APIS[1]))]).await;
        let url = proxy.url().replace("http://", "http://user:c4n4ry@");
        let home = TestHome::with_models(definition(APIS[1], "http://model.example/v1"));
        let (home, network) = match name {
            "" => (home, NetworkSettings { proxy: Some(ProxyUrl(url)), ..NetworkSettings::default() }),
            name => (home.set(name, &url), NetworkSettings::default()),
        };
        let catalog = catalog(&home, &network);
        assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello", "{name}");
        let received = &proxy.received()[0];
        assert!(received.head.starts_with("POST http://model.example/v1/chat/completions "), "{name}");
        assert_eq!(received.header("proxy-authorization"), Some("Basic dXNlcjpjNG40cnk="), "{name}");
    }
}

#[tokio::test]
async fn hosts_of_no_proxy_are_reached_without_it_and_a_proxy_that_fails_shows_no_password() {
    for (hosts, through) in [
        ("", true),
        ("other.example", true),
        ("model.example", false),
        (".example", false),
        ("example", false),
        ("*", false),
        ("other.example, model.example", false),
        ("xmodel.example", true),
    ] {
        let home = TestHome::with_models(definition(APIS[1], "http://model.example/v1"))
            .set("HTTP_PROXY", "http://user:c4n4ry@127.0.0.1:1")
            .set("no_proxy", hosts);
        let catalog = catalog(&home, &NetworkSettings::default());
        let mut request = question(model(&catalog), "hi");
        request.may_retry = false;
        // The host does not exist, so its name is not found without the proxy.
        let failure = failure(&answer_events(&catalog, request).await);
        assert_eq!(
            failure.text.contains("through the proxy of HTTP_PROXY"),
            through,
            "{hosts}: {}",
            failure.text
        );
        assert!(!failure.text.contains("c4n4ry"), "{}", failure.text);
    }
}
