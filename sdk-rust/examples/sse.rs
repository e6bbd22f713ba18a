//! Sends an agent's events to browsers as server-sent events: new EventSource("/Hello"). A disconnect stops the run.
//! cargo run --example sse -- agentese --mode rpc --provider scripted --no-session
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::pi;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n";

async fn serve(
    client: pi::Client,
    socket: TcpStream,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (reader, mut writer) = socket.into_split();
    let mut lines = BufReader::new(reader).lines();
    let request = lines.next_line().await?.unwrap_or_default();
    let message = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').replace("%20", " ");
    writer.write_all(HEAD).await?;
    let mut run = client.prompt(message).await?;
    while let Some(event) = run.next_raw().await {
        let frame = format!("event: {}\ndata: {}\n\n", event.kind(), event.body().as_str());
        if writer.write_all(frame.as_bytes()).await.is_err() {
            run.abort().await?;
            break;
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let client = pi::Client::spawn(std::env::args().skip(1))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(serve(client.clone(), socket));
    }
}
