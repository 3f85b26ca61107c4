//! Users of a cluster and the files that its programs read: tokens, kubeconfigs, audit policy, keys, the scheduler's
//! profiles.

use std::fs;
use std::path::Path;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// Every scheduler name that pods of the tests use: the real scheduler binds all of them.
pub const PROFILES: [&str; 3] = ["default-scheduler", "volcano", "hami-scheduler"];

/// A user of the token file.
#[derive(Clone, Debug)]
pub struct User {
    /// Name, as the API server and the audit log know it.
    pub name: String,
    /// Groups, which is where rights come from.
    group: Option<&'static str>,
}

impl User {
    /// A user with no rights but those that everyone has.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), group: None }
    }

    fn master(name: &str) -> Self {
        Self { name: name.to_owned(), group: Some("system:masters") }
    }

    /// What the user sends. Only loopback hears it, for as long as the test runs.
    pub fn token(&self) -> String {
        format!("token-of-{}", self.name)
    }
}

/// `admin`, the users of the programs, and those that a test asks for.
///
/// The scheduler has the rights that every cluster gives it. The controller manager's own role expects one account per
/// controller, and kwok has no role at all: both may do everything, under names of their own in the audit log.
pub fn users(named: &[&str]) -> Vec<User> {
    let mut users = vec![
        User::master("admin"),
        User::master("kube-controller-manager"),
        User::master("kwok"),
        User::named("system:kube-scheduler"),
    ];
    users.extend(named.iter().map(|name| User::named(name)));
    users
}

/// The lines of `--token-auth-file`: token, name, id, groups.
pub fn token_file(users: &[User]) -> String {
    let line = |user: &User| {
        let (token, name, group) = (user.token(), &user.name, user.group.unwrap_or_default());
        format!("{token},{name},{name},\"{group}\"\n")
    };
    users.iter().map(line).collect()
}

/// A kubeconfig of one user. JSON is YAML.
pub fn kubeconfig(server: &str, authority: &Path, user: &User) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bed", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": user.name, "user": {"token": user.token()}}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": user.name}}],
        "current-context": "bed",
    })
}

/// Every request is recorded once it is answered, a watch when it begins too, since it may never end; an eviction with the
/// UID that it is bound to.
pub fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Request", "resources": [{"group": "", "resources": ["pods/eviction"]}]},
            {"level": "Metadata"},
        ],
    })
}

/// Profiles of the same plugins under these names. The default of 50 requests a second would throttle tests with many pods.
pub fn scheduler(kubeconfig: &Path, names: &[&str]) -> Value {
    let profiles: Vec<Value> = names.iter().map(|name| json!({"schedulerName": name})).collect();
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 2000, "burst": 4000},
        "profiles": profiles,
    })
}

/// What DER puts before the point of a public key on the curve P-256: a sequence of the algorithm (a public key of an
/// elliptic curve, P-256) and a bit string of 66 bytes.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The keys that sign and check tokens of service accounts, as PEM: private and public. They are made here, with the
/// library that the program's TLS uses anyway: not every machine has `openssl`, and the key that the API server makes for its
/// certificate comes too late, since it reads these first.
pub fn service_account_keys() -> Result<[String; 2], String> {
    let told = |error: &dyn std::fmt::Display| format!("making a key for service accounts: {error}");
    let (kind, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
    let private = EcdsaKeyPair::generate_pkcs8(kind, &random).map_err(|error| told(&error))?;
    let pair = EcdsaKeyPair::from_pkcs8(kind, private.as_ref(), &random).map_err(|error| told(&error))?;
    let public = [&PUBLIC_KEY_HEAD, pair.public_key().as_ref()].concat();
    let pem = |tag, key: &[u8]| pem::encode(&pem::Pem::new(tag, key));
    Ok([pem("PRIVATE KEY", private.as_ref()), pem("PUBLIC KEY", &public)])
}

/// The authority among the certificates that the API server made for itself: its own comes first.
pub fn authority(certificates: &str) -> Result<String, String> {
    let all =
        pem::parse_many(certificates).map_err(|error| format!("the API server's certificate: {error}"))?;
    all.last().map(pem::encode).ok_or_else(|| "the API server has made no certificate".to_owned())
}

/// Writes a file of the cluster.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
