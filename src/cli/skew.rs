//! A word of warning where the controller that answers runs is of another version than this program.
//!
//! May import: cli, live, manifests

use super::output::Out;
use crate::live::Connected;
use crate::live::checks::{Holder, holder};
use crate::manifests::{NAMESPACE, VERSION};

/// Looks the leader up in the namespace of the manifests. None where nobody leads there, or that may not be read: then
/// nothing is known about versions, and that is no reason to stop or to worry anybody.
pub async fn leader(connected: &Connected) -> Option<Holder> {
    holder(connected, NAMESPACE).await.ok().flatten()
}

/// Warns if the versions differ.
pub fn warn(leader: Option<&Holder>, out: &mut Out) {
    if let Some(sentence) = leader.and_then(sentence) {
        out.warning(sentence);
    }
}

fn sentence(leader: &Holder) -> Option<String> {
    let theirs = leader.version.as_deref().filter(|theirs| *theirs != VERSION)?;
    Some(format!("the controller is version {theirs} and this program {VERSION}; use the same for both."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_is_known_and_differs_is_worth_a_word() {
        let of = |version: Option<&str>| {
            sentence(&Holder { version: version.map(str::to_owned), ..Holder::default() })
        };
        assert_eq!((of(None), of(Some(VERSION))), (None, None));
        assert!(of(Some("9.9.9")).unwrap().contains("version 9.9.9 and this program"));
    }
}
