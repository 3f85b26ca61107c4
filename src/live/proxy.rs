//! Which proxy a server is reached through.
//!
//! Decided here because the client library compares `NO_PROXY` with the proxy's own host (kube 5). Rules as Go's
//! `net/http` has them, which is what kubectl users know: the cluster's `proxy-url` first, then `HTTPS_PROXY` (or
//! `HTTP_PROXY` for plain servers) unless the server is on this machine or `NO_PROXY` names it. Entries are hosts, which
//! include what is below them, addresses, networks in CIDR notation, each with an optional port, or `*`.
//!
//! May import: (nothing of this crate)

use std::net::IpAddr;

use http::Uri;

/// The proxy for a server: `of_cluster` is the kubeconfig's `proxy-url`, `environment` looks a variable up.
pub fn proxy_for(
    server: &Uri,
    of_cluster: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(proxy) = of_cluster.filter(|proxy| !proxy.is_empty()) {
        return Some(proxy.to_owned());
    }
    let host = server.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
    let (upper, lower, standard) = if server.scheme_str() == Some("http") {
        ("HTTP_PROXY", "http_proxy", 80)
    } else {
        ("HTTPS_PROXY", "https_proxy", 443)
    };
    let proxy = set(upper).or_else(|| set(lower))?;
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let exceptions = set("NO_PROXY").or_else(|| set("no_proxy")).unwrap_or_default();
    let port = server.port_u16().unwrap_or(standard);
    let direct = local || exceptions.split(',').map(str::trim).any(|entry| names(entry, &host, port));
    (!direct).then_some(proxy)
}

/// Whether an entry of `NO_PROXY` names this host and port.
fn names(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    let entry = entry.to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>()
        && let Some((network, bits)) = entry.split_once('/')
    {
        let prefix = (network.parse::<IpAddr>(), bits.parse::<u32>());
        return matches!(prefix, (Ok(network), Ok(bits)) if within(address, network, bits));
    }
    let (name, of_port) = match entry.rsplit_once(':') {
        // An address of version 6 has colons of its own.
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            let Ok(of_port) = digits.parse::<u16>() else { return false };
            (name, Some(of_port))
        }
        _ => (entry.as_str(), None),
    };
    if of_port.is_some_and(|of_port| of_port != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']).trim_start_matches("*.").trim_start_matches('.');
    !name.is_empty() && (host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')))
}

fn within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (address, network, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => (u128::from(a.to_bits()), u128::from(n.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(n)) => (a.to_bits(), n.to_bits(), 128),
        _ => return false,
    };
    let Some(rest) = u32::checked_sub(width, bits) else { return false };
    address.checked_shr(rest) == network.checked_shr(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(server: &str, no_proxy: &str) -> bool {
        let environment = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://proxy.example:3128".to_owned()),
            "NO_PROXY" => Some(no_proxy.to_owned()),
            _ => None,
        };
        proxy_for(&server.parse().unwrap(), None, environment).is_some()
    }

    #[test]
    fn the_server_and_not_the_proxy_is_what_no_proxy_names() {
        assert!(through("https://10.96.0.1:443", ""));
        assert!(!through("https://10.96.0.1:443", "10.96.0.1,"));
        assert!(!through("https://10.96.0.1:443", "example.com, 10.96.0.0/12"));
        assert!(through("https://10.112.0.1:443", "10.96.0.0/12"));
        assert!(!through("https://api.team.example:6443", ".example"));
        assert!(!through("https://api.team.example:6443", "team.example:6443"));
        assert!(through("https://api.team.example:6443", "team.example:443"));
        assert!(through("https://steam.example", "team.example"));
        assert!(!through("https://[fd00::1]:6443", "fd00::/8"));
        assert!(!through("https://anything", "*"));
        assert!(through("https://10.96.0.1", "proxy.example"));
    }

    #[test]
    fn this_machine_needs_no_proxy_and_a_clusters_own_one_always_counts() {
        assert!(!through("https://127.0.0.1:6443", ""));
        assert!(!through("https://localhost:6443", ""));
        let own = proxy_for(&"https://127.0.0.1".parse().unwrap(), Some("socks5://jump:1080"), |_| None);
        assert_eq!(own.as_deref(), Some("socks5://jump:1080"));
        assert_eq!(
            proxy_for(&"http://api".parse().unwrap(), None, |name| {
                (name == "HTTPS_PROXY").then(|| "http://p".to_owned())
            }),
            None
        );
    }
}
