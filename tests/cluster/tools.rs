//! The programs of a control plane, built once from the Go module in this folder and kept in `target/testbed/bin`.
//!
//! `go.mod` and `go.sum` are the lockfile: no other version is ever built. A stamp beside the programs holds the hash
//! of both and of the build's flags; when it differs, everything is built again, which Go's own cache makes quick.
//! Several test binaries that start at the same time wait for one lock file, so that one of them builds.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use sha2::{Digest, Sha256};

/// Program and Go package, in the order of the build.
const PROGRAMS: [(&str, &str); 6] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
];

/// Without the version flags the API server reports v0.0.0, and clients that look at it behave differently.
const LINKER_FLAGS: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37";

/// What `go.mod` asks for, as (major, minor).
const LEAST_GO: (u32, u32) = (1, 26);

/// Where the programs lie.
#[derive(Clone, Debug)]
pub struct Tools {
    folder: PathBuf,
}

/// Why there are no tools.
#[derive(Debug)]
pub enum Missing {
    /// No usable Go: tests of clusters are skipped.
    Go(String),
    /// The build failed: tests of clusters fail.
    Build(String),
}

impl Tools {
    /// The tools, built if need be: some ten minutes of two processors the first time, then milliseconds.
    pub fn ready() -> Result<Self, Missing> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster");
        let tools = Self { folder: target().join("testbed/bin") };
        fs::create_dir_all(&tools.folder).map_err(|error| Missing::Build(error.to_string()))?;
        let wanted = stamp(&source)?;
        if tools.is_built(&wanted) {
            return Ok(tools);
        }
        let go = find_go()?;
        let lock =
            File::create(tools.folder.join("lock")).map_err(|error| Missing::Build(error.to_string()))?;
        lock.lock()
            .map_err(|error| Missing::Build(format!("locking the build of the test tools: {error}")))?;
        if !tools.is_built(&wanted) {
            tools.build(&go, &source)?;
            fs::write(tools.folder.join("stamp"), &wanted)
                .map_err(|error| Missing::Build(error.to_string()))?;
        }
        Ok(tools)
    }

    /// The tools, or a line that says why this test is skipped.
    ///
    /// # Panics
    /// When they can not be built; and without Go where `CI=true`.
    pub fn ready_or_skipped() -> Option<Self> {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        match Self::ready() {
            Ok(tools) => Some(tools),
            Err(Missing::Go(reason)) if is_ci => {
                panic!("cluster tests have to run where CI=true, and {reason}")
            }
            Err(Missing::Go(reason)) => {
                say(&format!("skipped: {reason}, which builds the clusters of the tests"));
                None
            }
            Err(Missing::Build(fault)) => panic!("the tools of the cluster tests can not be built: {fault}"),
        }
    }

    /// One more tool, of another Go module whose folder is its lockfile: the versions of its Kubernetes libraries are
    /// others. It is built every time, which Go's own cache makes quick.
    ///
    /// # Panics
    /// When it can not be built.
    pub fn another(&self, name: &str, package: &str, module: &Path) -> PathBuf {
        let built = find_go().and_then(|go| build(&go, module, package, &self.path(name)));
        if let Err(Missing::Go(fault) | Missing::Build(fault)) = built {
            panic!("{name} can not be built: {fault}");
        }
        self.path(name)
    }

    /// Path of a program, such as `kubectl`.
    pub fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }

    /// Folder of the programs, for `PATH`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn is_built(&self, wanted: &str) -> bool {
        fs::read_to_string(self.folder.join("stamp")).is_ok_and(|stamp| stamp == wanted)
            && PROGRAMS.iter().all(|(name, _)| self.path(name).exists())
    }

    fn build(&self, go: &Path, source: &Path) -> Result<(), Missing> {
        for (name, package) in PROGRAMS {
            say(&format!("building {name} for the cluster tests (once; all six take some minutes)"));
            let since = Instant::now();
            build(go, source, package, &self.path(name))?;
            say(&format!("built {name} in {} s", since.elapsed().as_secs()));
        }
        Ok(())
    }
}

/// Builds a program of the Go module in a folder.
fn build(go: &Path, module: &Path, package: &str, program: &Path) -> Result<(), Missing> {
    let done = Command::new(go)
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", LINKER_FLAGS, "-o"])
        .arg(program)
        .arg(package)
        .current_dir(module)
        .envs([("GOTOOLCHAIN", "local"), ("GOWORK", "off")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Missing::Build(format!("{}: {error}", go.display())))?;
    if !done.status.success() {
        let told = String::from_utf8_lossy(&done.stderr);
        return Err(Missing::Build(format!("go build {package}: {}\n{told}", done.status)));
    }
    Ok(())
}

/// The target folder that this program was built into: test binaries lie in `TARGET/PROFILE/deps`, examples in
/// `TARGET/PROFILE/examples`.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a path");
    program.ancestors().nth(3).expect("cargo builds three folders deep").to_owned()
}

/// A line for whoever waits: the test harness holds back what `eprintln!` prints, but not this.
pub fn say(line: &str) {
    // Nobody is there to be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

fn stamp(source: &Path) -> Result<String, Missing> {
    let mut hash = Sha256::new();
    for file in ["go.mod", "go.sum"] {
        let bytes = fs::read(source.join(file))
            .map_err(|error| Missing::Build(format!("tests/cluster/{file}: {error}")))?;
        hash.update(bytes);
    }
    hash.update(LINKER_FLAGS);
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Go on the `PATH` or where its own archive installs it, if it is new enough. Go would fetch a newer compiler by
/// itself; no build of this project does that.
fn find_go() -> Result<PathBuf, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/local/go/bin".into());
    let go =
        folders.iter().map(|folder| folder.join("go")).find(|file| file.is_file()).ok_or_else(|| {
            Missing::Go(format!("Go {}.{} or newer is not installed", LEAST_GO.0, LEAST_GO.1))
        })?;
    let told = Command::new(&go).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output();
    let told = told.map_err(|error| Missing::Go(format!("{}: {error}", go.display())))?;
    let told = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    if version(&told).is_some_and(|version| version >= LEAST_GO) {
        Ok(go)
    } else {
        Err(Missing::Go(format!("Go {}.{} or newer is needed, found {told:?}", LEAST_GO.0, LEAST_GO.1)))
    }
}

/// `go1.26.8` is (1, 26).
fn version(told: &str) -> Option<(u32, u32)> {
    let mut parts = told.strip_prefix("go")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}
