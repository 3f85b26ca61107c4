//! Which files of a folder are inputs, and in which order they are read.
//!
//! May import: (nothing of this crate)

/// True for names that end in `.json`, `.yaml` or `.yml`, each perhaps followed by `.gz`; hidden files are left out.
pub fn is_input_file(name: &str) -> bool {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let known = [".json", ".jsonl", ".yaml", ".yml"];
    !name.starts_with('.') && known.iter().any(|ending| plain.len() > ending.len() && plain.ends_with(ending))
}

/// The input files among the entries of a folder, by name, so that every file system gives the same order.
pub fn folder_entries<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<S> {
    let mut names: Vec<S> = names.into_iter().filter(|name| is_input_file(name.as_ref())).collect();
    names.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_by_name_and_only_json_and_yaml() {
        let names =
            ["pods.json", "README.md", "nodes.yaml.gz", ".hidden.json", "b.yml", "a.tar.gz", ".json", "x.gz"];
        assert_eq!(folder_entries(names), ["b.yml", "nodes.yaml.gz", "pods.json"]);
    }
}
