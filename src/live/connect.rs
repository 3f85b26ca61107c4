//! A client from kubeconfig and flags, with the meaning that kubectl gives them.
//!
//! May import: live

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::LiveError;
use super::proxy::proxy_for;

/// What was asked for on the command line; absent parts come from the kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// `--cluster`
    pub cluster: Option<String>,
    /// `--user`
    pub user: Option<String>,
    /// `--server`
    pub server: Option<String>,
    /// `--token`
    pub token: Option<String>,
    /// `--certificate-authority`
    pub certificate_authority: Option<PathBuf>,
    /// `--tls-server-name`
    pub tls_server_name: Option<String>,
    /// `--insecure-skip-tls-verify`
    pub insecure: bool,
    /// `--as`
    pub impersonate: Option<String>,
    /// `--as-group`
    pub impersonate_groups: Vec<String>,
    /// `--as-uid`
    pub impersonate_uid: Option<String>,
    /// `--request-timeout`; none: no limit.
    pub request_timeout: Option<Duration>,
}

/// A client, and what it is connected to.
#[derive(Clone)]
pub struct Connected {
    /// The client. It repeats what the server asks to repeat.
    pub client: Client,
    /// One that sends every request once, for who has to know what the server said: repeated inside the limit of a
    /// request, a refusal would become a missing answer, and an eviction several.
    pub once: Client,
    /// The server's address.
    pub server: String,
    /// Context of the kubeconfig; absent inside a cluster.
    pub context: Option<String>,
    /// Limit of one request; none: no limit.
    pub request_timeout: Option<Duration>,
}

/// Connects; nothing is sent yet.
///
/// # Errors
/// Kubeconfig, context or certificates can not be read, or there is neither a kubeconfig nor a cluster around this
/// process.
pub async fn connect(asked: &Connection) -> Result<Connected, LiveError> {
    let (mut config, context) = config(asked).await?;
    apply(asked, &mut config)?;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = |config| {
        let builder = ClientBuilder::try_from(config)
            .map_err(|fault| LiveError::Config(format!("cannot connect to {server}: {fault}")))?;
        Ok::<Client, LiveError>(builder.build())
    };
    let mut unrepeated = config.clone();
    unrepeated.default_retry = false;
    let (once, client) = (client(unrepeated)?, client(config)?);
    Ok(Connected { client, once, server, context, request_timeout: asked.request_timeout })
}

async fn config(asked: &Connection) -> Result<(Config, Option<String>), LiveError> {
    let read = match &asked.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = match read {
        Ok(kubeconfig) => kubeconfig,
        Err(fault) if asked.kubeconfig.is_none() && is_missing(&fault) => return without_file(asked),
        Err(fault) => return Err(LiveError::Config(format!("cannot read the kubeconfig: {fault}"))),
    };
    let context = asked.context.clone().or_else(|| kubeconfig.current_context.clone());
    let of_cluster = proxy_url(asked, &kubeconfig, context.as_deref());
    let options = KubeConfigOptions {
        context: asked.context.clone(),
        cluster: asked.cluster.clone(),
        user: asked.user.clone(),
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|fault| LiveError::Config(format!("cannot use the kubeconfig: {fault}")))?;
    config.proxy_url = proxy(&config.cluster_url, of_cluster.as_deref())?;
    Ok((config, context))
}

/// Whether there is no kubeconfig at all.
fn is_missing(fault: &KubeconfigError) -> bool {
    match fault {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(io, _) => io.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The cluster around this process, or the server that was named.
fn without_file(asked: &Connection) -> Result<(Config, Option<String>), LiveError> {
    if let Ok(config) = Config::incluster() {
        return Ok((config, None));
    }
    let Some(server) = &asked.server else {
        let sentence = "no kubeconfig was found, and this process does not run inside a cluster";
        return Err(LiveError::Config(sentence.to_owned()));
    };
    let url = url(server)?;
    let proxy = proxy(&url, None)?;
    let mut config = Config::new(url);
    config.proxy_url = proxy;
    Ok((config, None))
}

/// `proxy-url` of the cluster that is meant.
fn proxy_url(asked: &Connection, kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let of_context = || {
        let named = kubeconfig.contexts.iter().find(|named| Some(named.name.as_str()) == context)?;
        Some(named.context.as_ref()?.cluster.clone())
    };
    let cluster = asked.cluster.clone().or_else(of_context)?;
    let named = kubeconfig.clusters.iter().find(|named| named.name == cluster)?;
    named.cluster.as_ref()?.proxy_url.clone()
}

fn proxy(server: &Uri, of_cluster: Option<&str>) -> Result<Option<Uri>, LiveError> {
    let proxy = proxy_for(server, of_cluster, |name| std::env::var(name).ok());
    proxy.as_deref().map(url).transpose()
}

fn url(text: &str) -> Result<Uri, LiveError> {
    let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    full.parse().map_err(|fault| LiveError::Config(format!("{text} is no URL: {fault}")))
}

/// Flags win over the kubeconfig.
fn apply(asked: &Connection, config: &mut Config) -> Result<(), LiveError> {
    if let Some(server) = &asked.server {
        config.cluster_url = url(server)?;
    }
    if let Some(token) = &asked.token {
        config.auth_info.token = Some(token.clone().into());
        config.auth_info.token_file = None;
        config.auth_info.exec = None;
        config.auth_info.auth_provider = None;
    }
    if let Some(path) = &asked.certificate_authority {
        config.root_cert = None;
        config.root_cert_file = Some(path.clone());
    }
    if asked.insecure {
        config.accept_invalid_certs = true;
    }
    if let Some(name) = &asked.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    if let Some(user) = &asked.impersonate {
        config.auth_info.impersonate = Some(user.clone());
    }
    if !asked.impersonate_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(asked.impersonate_groups.clone());
    }
    if let Some(uid) = &asked.impersonate_uid {
        config.auth_info.impersonate_uid = Some(uid.clone());
    }
    Ok(())
}
