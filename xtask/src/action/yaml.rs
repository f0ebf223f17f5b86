//! As much of YAML as this repository's files are written in; the rest is refused: what is read is what a runner reads.

use serde_json::{Map, Value};

/// A file's value; every leaf is a text, or a list in brackets as it stands.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader { lines, at: 0 };
    let value = reader.block(0)?;
    match reader.peek() {
        None => Ok(value),
        Some((_, line)) => {
            Err(format!("line {}: {line:?} is indented unlike the lines before it", reader.at + 1))
        }
    }
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next line that says something, with its indent.
    fn peek(&mut self) -> Option<(usize, &'a str)> {
        while let Some(line) = self.lines.get(self.at) {
            let content = line.trim();
            if !content.is_empty() && !content.starts_with('#') {
                return Some((line.len() - line.trim_start().len(), content));
            }
            self.at += 1;
        }
        None
    }

    fn block(&mut self, indent: usize) -> Result<Value, String> {
        match self.peek() {
            Some((_, line)) if line.starts_with("- ") => self.list(indent),
            _ => self.mapping(indent),
        }
    }

    fn list(&mut self, indent: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while let Some((_, line)) = self.peek().filter(|(at, line)| *at == indent && line.starts_with("- ")) {
            if !key_of(&line[2..]).is_some_and(|(key, _)| is_key(key)) {
                items.push(scalar(&line[2..])?);
                self.at += 1;
                continue;
            }
            // The mapping begins on the dash's line, as if it stood two columns further.
            let inner = format!("{}{}", " ".repeat(indent + 2), &line[2..]);
            let at = self.at;
            let mut of_item = Reader { lines: self.lines.clone(), at };
            of_item.lines[at] = &inner;
            items.push(of_item.mapping(indent + 2)?);
            self.at = of_item.at;
        }
        Ok(Value::Array(items))
    }

    fn mapping(&mut self, indent: usize) -> Result<Value, String> {
        let mut map = Map::new();
        while let Some((_, line)) = self.peek().filter(|(at, line)| *at == indent && !line.starts_with("- "))
        {
            let here = self.at + 1;
            let (key, rest) = key_of(line).ok_or_else(|| format!("line {here}: {line:?} has no key"))?;
            self.at += 1;
            let value = match rest {
                "|" => Value::String(self.text(indent)),
                "" => match self.peek() {
                    Some((deeper, _)) if deeper > indent => self.block(deeper)?,
                    _ => Value::Null,
                },
                plain => scalar(plain).map_err(|why| format!("line {here}: {why}"))?,
            };
            if map.insert(key.to_owned(), value).is_some() {
                return Err(format!("line {here}: {key} stands there twice"));
            }
        }
        Ok(Value::Object(map))
    }

    fn text(&mut self, indent: usize) -> String {
        let mut lines = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            if !line.trim().is_empty() && line.len() - line.trim_start().len() <= indent {
                break;
            }
            lines.push(line.trim());
            self.at += 1;
        }
        lines.join("\n").trim_end().to_owned() + "\n"
    }
}

fn key_of(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix(':').map(|key| (key, "")).or_else(|| line.split_once(": "))
}

fn is_key(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn scalar(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').filter(|inner| !inner.contains(['"', '\\']));
        return inner
            .map(Value::from)
            .ok_or_else(|| format!("{text:?} is quoted in a way that is not read here"));
    }
    let text = text.split_once(" #").map_or(text, |(before, _)| before.trim_end());
    if text.starts_with(['\'', '{', '&', '*', '!', '>', '%', '@', '`']) || text.contains(": ") {
        return Err(format!("{text:?} means something to YAML that is not read here: quote it"));
    }
    Ok(Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_yaml_that_the_files_use_is_read_and_the_rest_refused() {
        let text = "# c\na: b c\nlist:\n  - x: \"1: 2\"\n    run: |\n      one\n      two\n\n  - y: z\n  - 'no\nlast:\n";
        assert!(parse(text).unwrap_err().contains("quote it"));
        let read = parse(&text.replace("  - 'no\n", "  - if $A: b\n")).unwrap_err();
        assert!(read.contains("quote it"), "{read}");
        let read = parse(&text.replace("  - 'no\n", "")).unwrap();
        let list = json!([{ "x": "1: 2", "run": "one\ntwo\n" }, { "y": "z" }]);
        assert_eq!(read, json!({ "a": "b c", "list": list, "last": null }));
        assert!(parse("a: 1\n  b: 2\n").unwrap_err().contains("line 2"));
        assert!(parse("a: 1\na: 2\n").unwrap_err().contains("twice"));
        assert_eq!(parse("a: b#c # d\n").unwrap(), json!({ "a": "b#c" }));
        assert!(parse("a: {b: c}\n").is_err() && parse("a: \"b\n").is_err());
    }
}
