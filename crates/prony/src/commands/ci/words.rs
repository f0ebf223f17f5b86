//! A text of flags as a shell splits it, and nothing else that a shell does.

/// The words of a text: blanks part them, unless quoted or after a backslash.
///
/// # Errors
/// A phrase where a quote is not closed.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("the quote {open} is not closed in {text:?}")),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them_and_nothing_is_expanded() {
        assert_eq!(split("  -c 100\t-d\n5s ").unwrap(), ["-c", "100", "-d", "5s"]);
        assert_eq!(
            split(r#"-H 'A: b "c"' -b "{\"n\": 1}" '' a\ b"#).unwrap(),
            ["-H", "A: b \"c\"", "-b", "{\"n\": 1}", "", "a b"]
        );
        assert_eq!(split("$(id) `id` $HOME * ;").unwrap(), ["$(id)", "`id`", "$HOME", "*", ";"]);
        assert!(split("").unwrap().is_empty());
        assert!(split("-H 'A: b").unwrap_err().contains("not closed"));
    }
}
