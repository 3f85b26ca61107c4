//! The HTTP server of probes and metrics: `/healthz`, `/readyz`, `/metrics`.
//!
//! hyper, as the client already uses it: three fixed paths need no router, and a hand-written parser of requests from
//! the network would be one more thing to attack.
//!
//! May import: (nothing of this crate)

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Longest wait for the head of a request; probes and scrapers send it at once.
const HEAD_LIMIT: Duration = Duration::from_secs(2);

/// Connections at the same time; more wait, so that nobody can take all file handles.
const MOST_CONNECTIONS: usize = 64;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the paths answer.
pub trait Answers: Send + Sync + 'static {
    /// Whether the process can work: lines that say what is missing; empty when nothing is.
    fn unready(&self) -> Vec<String>;
    /// The metrics.
    fn metrics(&self) -> String;
}

/// Which paths a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// `/healthz` and `/readyz`
    Probes,
    /// `/metrics`
    Metrics,
}

/// Takes an address; port 0 is any free one. Without an address: all of them, those of version 4 alone where there is no
/// version 6.
///
/// # Errors
/// Those of the system, such as that the port is taken.
pub async fn listen(address: Option<IpAddr>, port: u16) -> io::Result<TcpListener> {
    let any = || async move {
        match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
            Err(fault) if fault.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
            }
            other => other,
        }
    };
    match address {
        Some(address) => TcpListener::bind(SocketAddr::from((address, port))).await,
        None => any().await,
    }
}

/// Answers until the task is ended.
pub async fn serve(listener: TcpListener, serves: Serves, answers: Arc<dyn Answers>) {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(fault) => {
                tracing::warn!("cannot take a connection: {fault}");
                // Out of file handles, most likely: trying at once again would only burn a processor.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let answers = Arc::clone(&answers);
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer(serves, request.method(), request.uri().path(), &*answers);
                async move { Ok::<_, Infallible>(answer) }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_LIMIT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            if let Err(fault) = served {
                tracing::debug!("a connection ended early: {fault}");
            }
        });
    }
}

fn answer(serves: Serves, method: &Method, path: &str, answers: &dyn Answers) -> Response<Full<Bytes>> {
    const TEXT: &str = "text/plain; charset=utf-8";
    let known = match serves {
        Serves::Probes => ["/healthz", "/readyz"].contains(&path),
        Serves::Metrics => path == "/metrics",
    };
    let (status, kind, body) = if !known {
        (StatusCode::NOT_FOUND, TEXT, "no such path\n".to_owned())
    } else if method != Method::GET && method != Method::HEAD {
        (StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD are known\n".to_owned())
    } else if path == "/metrics" {
        (StatusCode::OK, OPEN_METRICS, answers.metrics())
    } else if path == "/healthz" {
        (StatusCode::OK, TEXT, "ok\n".to_owned())
    } else {
        match answers.unready() {
            missing if missing.is_empty() => (StatusCode::OK, TEXT, "ok\n".to_owned()),
            missing => (StatusCode::SERVICE_UNAVAILABLE, TEXT, missing.join("\n") + "\n"),
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Vec<String>);

    impl Answers for Fixed {
        fn unready(&self) -> Vec<String> {
            self.0.clone()
        }
        fn metrics(&self) -> String {
            "# EOF\n".to_owned()
        }
    }

    #[test]
    fn each_port_has_its_own_paths() {
        let status = |serves, method: &Method, path: &str, missing: &[&str]| {
            let answers = Fixed(missing.iter().map(|&line| line.to_owned()).collect());
            answer(serves, method, path, &answers).status().as_u16()
        };
        let get = &Method::GET;
        assert_eq!(status(Serves::Probes, get, "/healthz", &["the cache is empty"]), 200);
        assert_eq!(status(Serves::Probes, get, "/readyz", &["the cache is empty"]), 503);
        assert_eq!(status(Serves::Probes, get, "/readyz", &[]), 200);
        assert_eq!(status(Serves::Probes, &Method::POST, "/readyz", &[]), 405);
        assert_eq!(status(Serves::Probes, get, "/metrics", &[]), 404);
        assert_eq!(status(Serves::Metrics, get, "/metrics", &[]), 200);
        assert_eq!(status(Serves::Metrics, get, "/healthz", &[]), 404);
    }

    #[test]
    fn a_real_client_gets_an_answer_and_a_silent_one_is_let_go() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = listen(Some(Ipv4Addr::LOCALHOST.into()), 0).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve(listener, Serves::Metrics, Arc::new(Fixed(Vec::new()))));
            let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
            client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("# EOF\n"), "{text}");
            assert!(text.contains("openmetrics-text"), "{text}");
            let mut silent = tokio::net::TcpStream::connect(address).await.unwrap();
            let mut rest = Vec::new();
            let ended = tokio::time::timeout(HEAD_LIMIT * 5, silent.read_to_end(&mut rest)).await;
            assert!(ended.is_ok(), "a connection without a request stays open");
        });
    }
}
