//! krew's manifest of the plugin: one entry per platform with the archive that `make package` builds.
//!
//! The manifest in the source tree names every platform and has [`NO_HASH`] in place of hashes, which no archive has. One for
//! archives that exist names just their platforms.
//!
//! May import: (nothing of this crate)

use serde_json::{Value, json};

use super::VERSION;

/// Name of the plugin: `kubectl repack`.
const NAME: &str = "repack";
/// Stands where a hash belongs until there is an archive.
pub const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where the plugin runs, in krew's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    os: &'static str,
    arch: &'static str,
}

impl Platform {
    /// Every platform, in the order of the manifest.
    pub const ALL: [Self; 6] = [
        Self { os: "linux", arch: "amd64" },
        Self { os: "linux", arch: "arm64" },
        Self { os: "darwin", arch: "amd64" },
        Self { os: "darwin", arch: "arm64" },
        Self { os: "windows", arch: "amd64" },
        Self { os: "windows", arch: "arm64" },
    ];

    /// File name of the platform's archive.
    pub fn archive(self) -> String {
        format!("kubectl-repack-{}-{}.tar.gz", self.os, self.arch)
    }

    /// The platform of an archive's file name.
    pub fn of_archive(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.archive() == name)
    }

    fn program(self) -> &'static str {
        if self.os == "windows" { "kubectl-repack.exe" } else { "kubectl-repack" }
    }
}

/// The manifest of the source tree.
pub fn template() -> Value {
    let archives: Vec<(Platform, String)> =
        Platform::ALL.into_iter().map(|platform| (platform, NO_HASH.to_owned())).collect();
    plugin("", &archives)
}

/// The manifest for archives with their SHA-256 in lower-case hex; they lie under the address `base`.
pub fn plugin(base: &str, archives: &[(Platform, String)]) -> Value {
    let platforms: Vec<Value> = archives
        .iter()
        .map(|(platform, sha256)| {
            json!({
                "selector": {"matchLabels": {"os": platform.os, "arch": platform.arch}},
                "uri": format!("{base}{}", platform.archive()),
                "sha256": sha256,
                "bin": platform.program(),
            })
        })
        .collect();
    json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": format!("v{VERSION}"),
            "shortDescription": "Free whole accelerator nodes by moving pods",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": platforms,
        },
    })
}

const DESCRIPTION: &str = "\
Plans which running pods to move onto nodes that stay busy anyway, so that
complete GPU or NPU nodes become free. Every move passes the rules of the
scheduler that places the replacement, scope and budget are yours, and for
every node that stays it says why.
";

const CAVEATS: &str = "\
To complete commands and flags after `kubectl repack`, put the helper on the
PATH:
  ln -s ${KREW_ROOT:-~/.krew}/store/repack/*/kubectl_complete-repack ~/bin/
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_holds_to_the_rules_of_krew() {
        let manifest = template();
        let spec = &manifest["spec"];
        assert!(spec["shortDescription"].as_str().unwrap().len() <= 50);
        for text in ["description", "caveats"] {
            assert!(spec[text].as_str().unwrap().lines().all(|line| line.len() <= 80), "{text}");
        }
        let version = spec["version"].as_str().unwrap().strip_prefix('v').unwrap();
        assert_eq!(version.split('.').count(), 3);
        let platforms = spec["platforms"].as_array().unwrap();
        assert_eq!(platforms.len(), 6);
        for platform in platforms {
            let sha256 = platform["sha256"].as_str().unwrap();
            assert!(
                sha256.len() == 64
                    && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            );
        }
    }

    #[test]
    fn an_archive_is_known_by_its_name_alone() {
        for platform in Platform::ALL {
            assert_eq!(Platform::of_archive(&platform.archive()), Some(platform));
        }
        assert_eq!(Platform::of_archive("kubectl-repack-plan9-amd64.tar.gz"), None);
    }
}
