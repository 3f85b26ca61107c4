//! A small HTTP server on loopback for what a real one does not do: faults at will, and more objects than a test can create.
//!
//! [`Server`] answers as a function says. [`Proxy`] stands between a program and the API server and passes everything
//! on, except what a test makes fail. [`Balancer`] stands for the Service of several replicas.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::AbortHandle;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::{Cluster, config, process};

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET`, `PUT`, …
    pub method: String,
    /// The path alone.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// What was sent.
    pub body: String,
}

impl Asked {
    /// Whether it is a watch.
    pub fn is_watch(&self) -> bool {
        self.query.split('&').any(|part| part == "watch=true" || part == "watch=1")
    }

    /// The value of a parameter of the query, as it stands there.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    }
}

/// An answer to come; none closes the connection instead.
pub type Answering = Pin<Box<dyn Future<Output = Option<Response<Body>>> + Send>>;
/// What answers requests.
pub type Handler = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// A running server; it ends when it is dropped.
pub struct Server {
    // Dropped first: nothing is answered any more.
    _runtime: Runtime,
    port: u16,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Server {
    /// Serves what a handler answers; it is made inside the server's runtime, which clients need that it passes
    /// requests to.
    pub fn start(make: impl FnOnce() -> Handler) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let handler = {
            let _inside = runtime.enter();
            make()
        };
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let open = Arc::clone(&connections);
        runtime.spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let handler = Arc::clone(&handler);
                let service = service_fn(move |request| {
                    let answer = handler(request);
                    async move { answer.await.ok_or("no answer") }
                });
                // A connection that is closed before its time is what some tests are about.
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let (served, abort) = futures::future::abortable(served);
                open.lock().unwrap_or_else(PoisonError::into_inner).push(abort);
                tokio::spawn(served);
            }
        });
        Self { _runtime: runtime, port, connections }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Closes every connection, whatever is on its way.
    pub fn cut(&self) {
        for open in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            open.abort();
        }
    }
}

/// An answer of JSON.
pub fn answer(code: u16, text: String) -> Response<Body> {
    let builder = Response::builder().status(code).header("content-type", "application/json");
    builder.body(Body::from(text.into_bytes())).unwrap()
}

/// What happens to a request instead of what should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server refuses with this code.
    Refused(u16),
    /// A watch begins and says at once that its version is too old.
    Expired,
    /// The request never arrives.
    Lost,
    /// The server does what is asked and the answer gets lost.
    AnswerLost,
    /// The server does what is asked, and the answer comes so many seconds later.
    AnswerLate(u64),
    /// Too many requests: the server says when to come again, in seconds.
    RetryAfter(u64),
    /// The process of this id is killed, and the request never arrives.
    Killed(u32),
    /// The server does what is asked, and the process of this id is killed before it hears of it.
    KilledAfter(u32),
}

type Choose = Box<dyn FnMut(&Asked) -> Option<Fault> + Send>;

/// A server in front of a cluster.
pub struct Proxy {
    server: Server,
    choose: Arc<Mutex<Choose>>,
    struck: Arc<Mutex<Vec<(Asked, Fault)>>>,
}

impl Proxy {
    /// Passes everything on.
    pub fn start(cluster: &Cluster) -> Self {
        let authority = std::fs::read(cluster.authority()).unwrap();
        let authority = pem::parse_many(authority).unwrap();
        let mut config = Config::new(cluster.server().parse().unwrap());
        config.root_cert = Some(authority.into_iter().map(pem::Pem::into_contents).collect());
        config.default_retry = false;
        config.read_timeout = None;
        let choose: Arc<Mutex<Choose>> = Arc::new(Mutex::new(Box::new(|_| None)));
        let struck: Arc<Mutex<Vec<(Asked, Fault)>>> = Arc::default();
        let (chosen, noted) = (Arc::clone(&choose), Arc::clone(&struck));
        let server = Server::start(move || {
            let client = Client::try_from(config).unwrap();
            Arc::new(move |request| {
                let (client, chosen, noted) = (client.clone(), Arc::clone(&chosen), Arc::clone(&noted));
                Box::pin(async move {
                    let (request, asked) = taken(request).await?;
                    let fault = (*chosen.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
                    if let Some(fault) = fault {
                        noted.lock().unwrap_or_else(PoisonError::into_inner).push((asked, fault));
                    }
                    carry_out(fault, client, request).await
                })
            })
        });
        Self { server, choose, struck }
    }

    /// From now on requests fail as the function says.
    pub fn strike(&self, choose: impl FnMut(&Asked) -> Option<Fault> + Send + 'static) {
        *self.choose.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(choose);
    }

    /// What was made to fail so far.
    pub fn struck(&self) -> Vec<(Asked, Fault)> {
        self.struck.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes every connection, watches included.
    pub fn cut(&self) {
        self.server.cut();
    }

    /// The kubeconfig of a user who comes this way.
    pub fn kubeconfig(&self, cluster: &Cluster, user: &str) -> PathBuf {
        // Each proxy has one of its own: several may stand before one cluster.
        let port = self.server.port;
        let path = cluster.kubeconfig(user).with_extension(format!("{port}.proxy"));
        let mut text = config::kubeconfig(&self.server.url(), &cluster.authority(), cluster.user(user));
        text["clusters"][0]["cluster"].as_object_mut().unwrap().remove("certificate-authority");
        config::write(&path, &text.to_string()).unwrap();
        path
    }
}

/// Passes connections on to one of several ports: the first that takes them.
pub struct Balancer {
    // Dropped first: nothing is passed on any more.
    _runtime: Runtime,
    port: u16,
    ports: Arc<Mutex<Vec<u16>>>,
    connections: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Balancer {
    /// Passes on to nobody yet.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let ports: Arc<Mutex<Vec<u16>>> = Arc::default();
        let connections: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let (known, open) = (Arc::clone(&ports), Arc::clone(&connections));
        runtime.spawn(async move {
            loop {
                let Ok((mut incoming, _)) = listener.accept().await else { continue };
                let ports = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let (passed, abort) = futures::future::abortable(async move {
                    for port in ports {
                        if let Ok(mut outgoing) = TcpStream::connect(("127.0.0.1", port)).await {
                            // Whoever closes first ends it.
                            let _ = tokio::io::copy_bidirectional(&mut incoming, &mut outgoing).await;
                            return;
                        }
                    }
                });
                open.lock().unwrap_or_else(PoisonError::into_inner).push(abort);
                tokio::spawn(passed);
            }
        });
        Self { _runtime: runtime, port, ports, connections }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on these are asked, in this order.
    pub fn passes_to(&self, ports: Vec<u16>) {
        *self.ports.lock().unwrap_or_else(PoisonError::into_inner) = ports;
    }

    /// Closes every connection: those that come instead go as was said last.
    pub fn cut(&self) {
        for open in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            open.abort();
        }
    }
}

async fn carry_out(fault: Option<Fault>, client: Client, request: Request<Body>) -> Option<Response<Body>> {
    match fault {
        Some(Fault::Refused(code)) => Some(answer(code, status(code, "a test has it fail"))),
        Some(Fault::RetryAfter(seconds)) => {
            let mut refusal = answer(
                429,
                status(429, "a test has it wait").replacen(
                    "\"metadata\":{}",
                    &format!("\"metadata\":{{}},\"details\":{{\"retryAfterSeconds\":{seconds}}}"),
                    1,
                ),
            );
            refusal.headers_mut().insert("retry-after", seconds.into());
            Some(refusal)
        }
        Some(Fault::AnswerLate(seconds)) => {
            let done = client.send(request).await.ok()?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Some(done)
        }
        Some(Fault::Expired) => {
            let status = status(410, "too old resource version");
            Some(answer(200, format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n")))
        }
        Some(Fault::Lost) => None,
        Some(Fault::Killed(pid)) => {
            process::end(pid);
            None
        }
        Some(Fault::AnswerLost | Fault::KilledAfter(_)) => {
            let done = client.send(request).await.ok()?;
            done.into_body().collect().await.ok()?;
            if let Some(Fault::KilledAfter(pid)) = fault {
                process::end(pid);
            }
            None
        }
        None => client.send(request).await.ok(),
    }
}

/// The request as it is passed on, and what a test sees of it.
async fn taken(request: Request<Incoming>) -> Option<(Request<Body>, Asked)> {
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    for header in ["host", "connection", "content-length"] {
        parts.headers.remove(header);
    }
    Some((Request::from_parts(parts, Body::from(body.to_vec())), asked))
}

/// What an API server says when it refuses.
fn status(code: u16, message: &str) -> String {
    let reason = match code {
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
    .to_string()
}

/// Passes connections on to a port of this machine, or closes them, as a test says. What it passes on it does not read.
pub struct Relay {
    _runtime: Runtime,
    port: u16,
    open: Arc<AtomicBool>,
}

impl Relay {
    /// Passes on to this port, which nobody has to listen on yet.
    pub fn start(to: u16) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(AtomicBool::new(true));
        let is_open = Arc::clone(&open);
        runtime.spawn(async move {
            loop {
                let Ok((mut here, _)) = listener.accept().await else { continue };
                let is_open = Arc::clone(&is_open);
                tokio::spawn(async move {
                    let Ok(mut there) = tokio::net::TcpStream::connect(("127.0.0.1", to)).await else {
                        return;
                    };
                    // Looked at again and again: a connection that is kept is closed as well.
                    let closed = async {
                        while is_open.load(Ordering::Relaxed) {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    };
                    tokio::select! {
                        () = closed => {}
                        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => {}
                    }
                });
            }
        });
        Self { _runtime: runtime, port, open }
    }

    /// The port it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it passes on; false closes what is open, and whatever comes then.
    pub fn gate(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.open)
    }
}
