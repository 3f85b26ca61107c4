//! `-o yaml`: the layout of kubectl: lists flush with their key, no folded lines, quotes only where needed.
//!
//! May import: (nothing of this crate)

use serde::Serialize;

/// The value as YAML text.
///
/// # Errors
/// Those of the value's own `Serialize`.
pub fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    // Text of several lines is a block, as kubectl writes it; a long line is never folded into several.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: true, folded_wrap_chars: usize::MAX };
    let mut text = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_looks_like_kubectl() {
        let long = "word ".repeat(30);
        let value = json!({
            "kind": "RepackRun",
            "labels": {"repack.volcano.sh/protected": "true", "count": "8", "empty": "", "plain": "a-b"},
            "message": long.trim(),
            "colon": "a: b",
            "moves": [{"namespace": "team-a", "pods": [{"name": "p-0", "cards": 2}]}],
            "none": [],
            "two": "a line\nand one more\n",
        });
        let text = yaml(&value).unwrap();
        assert!(text.contains(&format!("message: {}\n", long.trim())), "{text}");
        insta::assert_snapshot!(text.replace(long.trim(), "(long)"), @r#"
        colon: "a: b"
        kind: RepackRun
        labels:
          count: "8"
          empty: ""
          plain: a-b
          repack.volcano.sh/protected: "true"
        message: (long)
        moves:
        - namespace: team-a
          pods:
          - cards: 2
            name: p-0
        none: []
        two: |
          a line
          and one more
        "#);
    }
}
