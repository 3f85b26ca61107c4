//! `-o json`: two blanks, fields in the order of the structs, a line feed at the end.
//!
//! May import: (nothing of this crate)

use serde::Serialize;

/// The value as JSON text.
///
/// # Errors
/// Those of the value's own `Serialize`.
pub fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}
