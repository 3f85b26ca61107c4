//! `kubectl repack explain`
//!
//! May import: cli

use clap::Args;

use super::groups::{PlanArgs, SourceArgs, ViewArgs};
use crate::cli::error::CliError;

/// Say why a node is not freed, a pod can not move or a run ended as it did, and what would change that
#[derive(Args, Clone, Debug, Default)]
#[command(mut_arg("snapshot", |arg| arg.num_args(1)))]
#[command(after_help = "Examples:
  # Why a node stays occupied
  kubectl repack explain node npu-07 --snapshot cluster.json

  # Where a pod could go, and which rule refuses it elsewhere
  kubectl repack explain pod team-a/train-0 --snapshot cluster.json

  # All members of a group
  kubectl repack explain podgroup/team-a/train --snapshot cluster.json

  # What a run of the cluster has to say
  kubectl repack explain run dryrun-x7k2p")]
pub struct ExplainArgs {
    /// What to explain: `node NAME`, `pod NS/NAME`, `podgroup NS/NAME` or `run NAME`, also written `node/NAME`
    #[arg(value_name = "TARGET", required = true, num_args = 1..=2)]
    pub target: Vec<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// What is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node.
    Node(String),
    /// A pod.
    Pod { namespace: String, name: String },
    /// A PodGroup.
    PodGroup { namespace: String, name: String },
    /// A run of the cluster.
    Run(String),
}

impl ExplainArgs {
    /// The target, in whichever form it was typed; kinds may be written as kubectl takes them.
    ///
    /// # Errors
    /// A usage error that shows the form.
    pub fn target(&self) -> Result<Target, CliError> {
        let typed = self.target.join(" ");
        let wrong = |why: String| {
            CliError::usage(why)
                .hint("kubectl repack explain node NAME")
                .hint("kubectl repack explain pod NAMESPACE/NAME")
                .hint("kubectl repack explain podgroup NAMESPACE/NAME")
                .hint("kubectl repack explain run NAME")
        };
        let (kind, name) = match self.target.as_slice() {
            [one, other] if one.contains('/') => {
                return Err(wrong(format!(
                    "only one object can be explained at a time, not {one} and {other}"
                )));
            }
            [kind, name] => (kind.as_str(), name.as_str()),
            [both] => both
                .split_once('/')
                .ok_or_else(|| wrong(format!("{typed:?} does not say what to explain")))?,
            _ => return Err(wrong("there is nothing to explain".to_owned())),
        };
        let namespaced = || match name.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((namespace.to_owned(), name.to_owned()))
            }
            _ => Err(wrong(format!("a {kind} is named NAMESPACE/NAME, not {name:?}"))),
        };
        match kind.to_lowercase().as_str() {
            "node" | "nodes" | "no" if name.is_empty() || name.contains('/') => {
                Err(wrong(format!("{name:?} is not the name of a node")))
            }
            "node" | "nodes" | "no" => Ok(Target::Node(name.to_owned())),
            "pod" | "pods" | "po" => namespaced().map(|(namespace, name)| Target::Pod { namespace, name }),
            "podgroup" | "podgroups" | "pg" => {
                namespaced().map(|(namespace, name)| Target::PodGroup { namespace, name })
            }
            "run" | "repackrun" | "repackruns" | "rpr" if name.is_empty() || name.contains('/') => {
                Err(wrong(format!("{name:?} is not the name of a run")))
            }
            "run" | "repackrun" | "repackruns" | "rpr" => Ok(Target::Run(name.to_owned())),
            _ => Err(wrong(format!("{kind:?} can not be explained, only node, pod, podgroup and run"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(words: &[&str]) -> Result<Target, String> {
        let args = ExplainArgs {
            target: words.iter().map(|word| (*word).to_owned()).collect(),
            ..ExplainArgs::default()
        };
        args.target().map_err(|error| error.to_string())
    }

    #[test]
    fn targets_are_read_in_both_forms() {
        assert_eq!(target(&["node", "npu-01"]), Ok(Target::Node("npu-01".to_owned())));
        assert_eq!(target(&["node/npu-01"]), target(&["no", "npu-01"]));
        let pod = Ok(Target::Pod { namespace: "a".to_owned(), name: "b".to_owned() });
        assert_eq!(target(&["pod", "a/b"]), pod);
        assert_eq!(target(&["pods/a/b"]), pod);
        let group = Ok(Target::PodGroup { namespace: "a".to_owned(), name: "b".to_owned() });
        assert_eq!(target(&["PodGroup/a/b"]), group);
    }

    #[test]
    fn other_targets_are_refused_in_words() {
        let fault = |words: &[&str]| target(words).unwrap_err();
        insta::assert_snapshot!(fault(&["npu-01"]), @r#""npu-01" does not say what to explain"#);
        insta::assert_snapshot!(fault(&["pod", "b"]), @r#"a pod is named NAMESPACE/NAME, not "b""#);
        insta::assert_snapshot!(fault(&["queue", "a"]), @r#""queue" can not be explained, only node, pod, podgroup and run"#);
        insta::assert_snapshot!(fault(&["node/a", "node/b"]), @"only one object can be explained at a time, not node/a and node/b");
        insta::assert_snapshot!(fault(&["node", "a/b"]), @r#""a/b" is not the name of a node"#);
    }
}
