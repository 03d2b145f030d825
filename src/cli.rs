//! The subcommands that do not serve.

use crate::config::{Config, Healthcheck};
use crate::http;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use tokio::net::TcpStream;

/// `nqueens healthcheck`: asks the service on this machine whether it is alive.
pub async fn healthcheck(settings: &Healthcheck) -> ExitCode {
    let address = reachable(settings.listen);
    match tokio::time::timeout(settings.timeout, ask(address)).await {
        Ok(Ok(StatusCode::OK)) => ExitCode::SUCCESS,
        Ok(Ok(status)) => complain(&format!("http://{address}/healthz answered {status}")),
        Ok(Err(error)) => complain(&format!("http://{address}/healthz: {error}")),
        Err(_) => complain(&format!("http://{address}/healthz: no answer within {:?}", settings.timeout)),
    }
}

/// An address to listen on may mean "all of them"; one to connect to cannot.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn ask(address: SocketAddr) -> Result<StatusCode, Box<dyn std::error::Error>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get("/healthz").header("host", address.to_string());
    let response = sender.send_request(request.body(http_body_util::Empty::<Bytes>::new())?).await?;
    Ok(response.status())
}

#[expect(clippy::print_stderr, reason = "a command's one line of complaint")]
fn complain(line: &str) -> ExitCode {
    eprintln!("{line}");
    ExitCode::FAILURE
}

/// `nqueens openapi`: the OpenAPI document with the default caps, as YAML.
#[must_use]
pub fn openapi() -> Vec<u8> {
    http::document(&Config::default()).yaml.to_vec()
}
