//! Finds the known name that was probably meant.
//!
//! May import: (nothing of this crate)

/// The known name nearest to `given`, if one is near enough to be a typing mistake.
///
/// Letter case is ignored. "Near" is Jaro-Winkler similarity of at least 0.8: at that bound swapped, missing and
/// doubled letters and singular for plural are found, while unrelated short words are not. The first of equals wins.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for name in known {
        let score = strsim::jaro_winkler(&given, &name.to_lowercase());
        if score >= 0.8 && best.is_none_or(|(top, _)| score > top) {
            best = Some((score, name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_find_their_name_and_other_words_none() {
        let known = ["mode", "scope", "goals", "maxPerRun", "networkTopology", "eviction"];
        assert_eq!(nearest("maxperrun", known), Some("maxPerRun"));
        assert_eq!(nearest("goal", known), Some("goals"));
        assert_eq!(nearest("evicton", known), Some("eviction"));
        assert_eq!(nearest("replicas", known), None);
    }
}
