//! The webhooks: an HTTPS server that answers admission reviews of Pods and `PodGroups`, and its certificate.
//!
//! Every replica serves them, each with a certificate of its own (see `trust`). A review that can not be read is answered with yes and no
//! change: nobody waits for this product.
//!
//! May import: execute

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use super::metrics::Metrics;
use crate::execute::Creator;
use crate::execute::admission::Expected;

/// Path of the reviews of Pods.
pub const PODS: &str = "/pods";
/// Path of the reviews of `PodGroups`.
pub const POD_GROUPS: &str = "/podgroups";

/// Path of the reviews of runs.
pub const RUNS: &str = "/runs";

/// Longest wait for the head of a request and for a handshake.
const HEAD_LIMIT: Duration = Duration::from_secs(5);
/// Largest review: an object of the API server and what stands around it.
const MOST_BYTES: usize = 4 << 20;
/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;

/// What pods and groups are expected by the run that is being carried out; none: there is none.
pub type Awaited = watch::Receiver<Option<Arc<Expected>>>;

/// A certificate and its key.
pub struct Certificate {
    /// What clients have to trust, as PEM.
    pub pem: String,
    /// For whoever serves it.
    pub config: Arc<ServerConfig>,
}

impl Certificate {
    /// Makes one for these names and addresses, good for so long and the rest of the day.
    ///
    /// # Errors
    /// A sentence without a full stop.
    pub fn new(names: Vec<String>, lifetime: Duration) -> Result<Self, String> {
        let failed = |fault: &dyn std::fmt::Display| format!("cannot make a certificate: {fault}");
        let key = rcgen::KeyPair::generate().map_err(|fault| failed(&fault))?;
        let mut about = rcgen::CertificateParams::new(names).map_err(|fault| failed(&fault))?;
        // Clocks differ: it is good since yesterday.
        let since = day(SignedDuration::from_hours(-24));
        let until =
            day(SignedDuration::try_from(lifetime).unwrap_or_default() + SignedDuration::from_hours(24));
        about.not_before = rcgen::date_time_ymd(since.0, since.1, since.2);
        about.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
        let made = about.self_signed(&key).map_err(|fault| failed(&fault))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|fault| failed(&fault))?
            .with_no_client_auth()
            .with_single_cert(vec![made.der().clone()], key)
            .map_err(|fault| failed(&fault))?;
        Ok(Self { pem: made.pem(), config: Arc::new(config) })
    }
}

/// The beginning of the day that is so far from now.
fn day(away: SignedDuration) -> (i32, u8, u8) {
    let date = (Timestamp::now() + away).to_zoned(jiff::tz::TimeZone::UTC).date();
    let part = |number: i8| u8::try_from(number).unwrap_or(1);
    (i32::from(date.year()), part(date.month()), part(date.day()))
}

/// Answers until the task is ended.
pub async fn serve(
    listener: TcpListener,
    served: watch::Receiver<Arc<ServerConfig>>,
    awaited: Awaited,
    metrics: Arc<Metrics>,
) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let acceptor = TlsAcceptor::from(Arc::clone(&served.borrow()));
        let (awaited, metrics) = (awaited.clone(), Arc::clone(&metrics));
        tokio::spawn(async move {
            let _place = place;
            let Ok(Ok(stream)) = timeout(HEAD_LIMIT, acceptor.accept(stream)).await else { return };
            let service = service_fn(move |request| answer(request, awaited.clone(), Arc::clone(&metrics)));
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_LIMIT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    awaited: Awaited,
    metrics: Arc<Metrics>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let begun = Instant::now();
    let path = request.uri().path();
    let subject = match path {
        PODS => Subject::Pod,
        POD_GROUPS => Subject::PodGroup,
        RUNS => Subject::Run,
        _ => return Ok(status(StatusCode::NOT_FOUND)),
    };
    if request.method() != Method::POST {
        return Ok(status(StatusCode::NOT_FOUND));
    }
    let Ok(body) = Limited::new(request.into_body(), MOST_BYTES).collect().await else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    let Ok(review) = serde_json::from_slice::<Value>(&body.to_bytes()) else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    let expected = awaited.borrow().clone();
    let answer = reviewed(&review, expected.as_deref(), subject);
    metrics.reviewed(begun.elapsed());
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}

fn status(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = code;
    response
}

/// What a review is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod that is created.
    Pod,
    /// A `PodGroup` that is created.
    PodGroup,
    /// A run that is created: who does it is noted on it.
    Run,
}

/// The review with our answer: always yes, with a patch where something is expected.
pub fn reviewed(review: &Value, expected: Option<&Expected>, subject: Subject) -> Value {
    let request = &review["request"];
    let namespace = request["namespace"].as_str().unwrap_or_default();
    let object = &request["object"];
    let patch = match (subject, expected) {
        (Subject::Run, _) => {
            let creator = serde_json::from_value::<Creator>(request["userInfo"].clone()).unwrap_or_default();
            if creator.username.is_empty() { Vec::new() } else { creator.note(object) }
        }
        (_, None) => Vec::new(),
        (Subject::PodGroup, Some(expected)) => expected.patch_group(namespace, object),
        (Subject::Pod, Some(expected)) => expected.patch_pod(namespace, object),
    };
    let mut response = json!({"uid": request["uid"], "allowed": true});
    if !patch.is_empty() {
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(base64(Value::from(patch).to_string().as_bytes()));
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// Base64 with padding (RFC 4648), as JSON has bytes.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let all = chunk.iter().enumerate().fold(0_u32, |all, (at, &b)| all | u32::from(b) << (16 - 8 * at));
        for at in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * at) & 63) as usize] as char;
            text.push(if at <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_the_api_reads_them() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn without_a_run_every_review_passes_as_it_is() {
        let review =
            json!({"request": {"uid": "7", "namespace": "a", "object": {"metadata": {"name": "p"}}}});
        let answer = reviewed(&review, None, Subject::Pod);
        assert_eq!(answer["response"], json!({"uid": "7", "allowed": true}));
    }

    #[test]
    fn a_certificate_can_be_made_for_names_and_addresses() {
        let names = vec!["a.b.svc".to_owned(), "127.0.0.1".to_owned()];
        let made = Certificate::new(names, Duration::from_mins(1)).unwrap();
        assert!(made.pem.starts_with("-----BEGIN CERTIFICATE-----"));
    }
}
