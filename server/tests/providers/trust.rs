//! Tests of the certificates that are trusted.

use std::sync::Arc;

use agentese_server::providers::ProviderErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::support::{Reply, TestHome, answer_events, definition, failure, hello, model, question, text};

#[tokio::test]
async fn fm_f71_certificates_of_the_environment_are_trusted_and_unknown_ones_are_not() {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let reply = Reply::events(&hello("openai-completions"));
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate disconnects here.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = Vec::new();
            // The body of the request ends with the last brace of its JSON.
            while !request.ends_with(b"}") && stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
            }
            let _ = stream.write_all(reply.bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let mut home = TestHome::with_models(definition("openai-completions", &address));
    let (catalog, _) = home.load();
    let unknown = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
    assert_eq!(unknown.kind, ProviderErrorKind::Network);
    assert!(unknown.text.starts_with("Connection error: "), "{}", unknown.text);

    home.write("own.pem", &own.cert.pem());
    let path = home.directory.path().join("own.pem");
    for name in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let place = if name == "SSL_CERT_DIR" { home.directory.path() } else { &path };
        home.variables = vec![(name.to_owned(), place.to_str().unwrap().to_owned())];
        let (catalog, _) = home.load();
        assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello", "{name}");
    }
    home.variables.clear();
    let (catalog, _) = home.load_with(|sources| sources.settings.ca_file = Some(path.clone()));
    assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello");
    serving.abort();
}
