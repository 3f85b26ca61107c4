//! The flags that say which cluster is meant and as whom, named as kubectl names them.
//!
//! May import: cli, live

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::value;
use crate::live::Connection;

/// Which cluster, and as whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection (as in kubectl; not used with --snapshot)")]
pub struct ClusterArgs {
    /// Kubeconfig file to use instead of KUBECONFIG or ~/.kube/config
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Cluster of the kubeconfig to use
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub cluster: Option<String>,
    /// User of the kubeconfig to use
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub user: Option<String>,
    /// Address of the API server
    #[arg(long, short, global = true, hide_short_help = true, value_name = "URL")]
    pub server: Option<String>,
    /// Bearer token to use
    #[arg(long, global = true, hide_short_help = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// File with the certificate authority of the API server
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub certificate_authority: Option<PathBuf>,
    /// Name to check the API server's certificate against
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub tls_server_name: Option<String>,
    /// Do not check the API server's certificate
    #[arg(long, global = true, hide_short_help = true)]
    pub insecure_skip_tls_verify: bool,
    /// User to act as
    #[arg(long = "as", global = true, hide_short_help = true, value_name = "USER")]
    pub as_user: Option<String>,
    /// Group to act as; can be repeated
    #[arg(long, global = true, hide_short_help = true, value_name = "GROUP", action = ArgAction::Append)]
    pub as_group: Vec<String>,
    /// UID to act as
    #[arg(long, global = true, hide_short_help = true, value_name = "UID")]
    pub as_uid: Option<String>,
    /// Time one request may take, seconds or 90s, 2m; 0 is no limit [default: 60s]
    #[arg(long, global = true, hide_short_help = true, value_name = "TIME", value_parser = value::seconds)]
    pub request_timeout: Option<i64>,
}

impl ClusterArgs {
    /// The same for the client.
    pub fn connection(&self) -> Connection {
        let seconds = self.request_timeout.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(60);
        Connection {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            server: self.server.clone(),
            token: self.token.clone(),
            certificate_authority: self.certificate_authority.clone(),
            tls_server_name: self.tls_server_name.clone(),
            insecure: self.insecure_skip_tls_verify,
            impersonate: self.as_user.clone(),
            impersonate_groups: self.as_group.clone(),
            impersonate_uid: self.as_uid.clone(),
            request_timeout: (seconds > 0).then(|| Duration::from_secs(seconds)),
        }
    }
}
