//! Blocks, commands and arguments of a case file.

use std::collections::BTreeMap;

/// Commands and where their output goes.
pub struct Block {
    /// The lines as written, up to the separator.
    pub head: String,
    /// The commands in it; none for a part of the file that only comments.
    pub commands: Vec<Command>,
}

/// A command with its arguments.
pub struct Command {
    /// Line in the file, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    words: Vec<String>,
    fields: BTreeMap<String, String>,
    /// Indented lines below it, without comments.
    pub body: Vec<String>,
}

impl Block {
    /// The blocks of a file.
    pub fn all(text: &str) -> Vec<Self> {
        let mut blocks = Vec::new();
        let mut block = Self { head: String::new(), commands: Vec::new() };
        let mut expected = false;
        for (at, line) in text.lines().enumerate() {
            if expected {
                if !line.is_empty() {
                    continue;
                }
                expected = false;
                blocks
                    .push(std::mem::replace(&mut block, Self { head: String::new(), commands: Vec::new() }));
            } else if line == "----" {
                expected = true;
                continue;
            }
            block.head.push_str(line);
            block.head.push('\n');
            block.take(at + 1, line);
        }
        blocks.push(block);
        blocks
    }

    fn take(&mut self, at: usize, line: &str) {
        let code = without_comment(line);
        if code.trim().is_empty() {
            return;
        }
        if code.starts_with(' ') {
            if let Some(command) = self.commands.last_mut() {
                command.body.push(code.to_owned());
            }
            return;
        }
        self.commands.push(Command::parse(at, code));
    }
}

fn without_comment(line: &str) -> &str {
    if line.starts_with('#') { "" } else { line.split(" # ").next().unwrap_or(line).trim_end() }
}

impl Command {
    fn parse(line: usize, code: &str) -> Self {
        let mut parts = split(code).into_iter();
        let name = parts.next().unwrap_or_default();
        let (mut words, mut fields) = (Vec::new(), BTreeMap::new());
        for part in parts {
            match part.split_once('=') {
                Some((key, value)) => {
                    let value = value.strip_prefix('(').and_then(|v| v.strip_suffix(')')).unwrap_or(value);
                    fields.insert(key.to_owned(), value.to_owned());
                }
                None => words.push(part),
            }
        }
        Self { line, name, words, fields, body: Vec::new() }
    }

    /// The arguments, to be taken one by one.
    pub fn args(&self) -> Args {
        Args { words: self.words.clone(), fields: self.fields.clone() }
    }

    /// The indented lines as YAML; `null` when there are none.
    pub fn yaml(&self) -> Result<serde_json::Value, String> {
        if self.body.is_empty() {
            return Ok(serde_json::Value::Null);
        }
        serde_saphyr::from_str(&self.body.join("\n")).map_err(|fault| fault.to_string())
    }
}

/// Splits at blanks outside of parentheses.
fn split(code: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for letter in code.chars() {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        match parts.last_mut() {
            Some(part) if letter != ' ' || depth > 0 => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Arguments that are left; [`Args::done`] refuses those that nobody took.
pub struct Args {
    words: Vec<String>,
    fields: BTreeMap<String, String>,
}

impl Args {
    /// The next word.
    pub fn word(&mut self, what: &str) -> Result<String, String> {
        if self.words.is_empty() { Err(format!("{what} is missing")) } else { Ok(self.words.remove(0)) }
    }

    /// Whether this word is there.
    pub fn flag(&mut self, word: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|w| w != word);
        before > self.words.len()
    }

    /// The value of a field.
    pub fn field(&mut self, key: &str) -> Option<String> {
        self.fields.remove(key)
    }

    /// The value of a field as a number.
    pub fn number<N: std::str::FromStr>(&mut self, key: &str) -> Result<Option<N>, String> {
        let parse = |text: String| text.parse().map_err(|_| format!("{key}={text} is no number"));
        self.field(key).map(parse).transpose()
    }

    /// The values of a field in parentheses.
    pub fn list(&mut self, key: &str) -> Vec<String> {
        self.field(key).map(|text| text.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// The pairs `(k=v …)` of a field as a JSON object.
    pub fn pairs(&mut self, key: &str) -> Result<Option<serde_json::Value>, String> {
        let Some(text) = self.field(key) else { return Ok(None) };
        let mut map = serde_json::Map::new();
        for pair in text.split_whitespace() {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} is no pair k=v"))?;
            map.insert(key.to_owned(), value.into());
        }
        Ok(Some(map.into()))
    }

    /// Refuses what is left.
    pub fn done(self) -> Result<(), String> {
        match self.words.first().or_else(|| self.fields.keys().next()) {
            Some(left) => Err(format!("unknown argument {left:?}")),
            None => Ok(()),
        }
    }
}
