//! Any text as a recipe (`server.toml`): one that is sound, or a sentence with its line.

use prony_lab::catalogue::Recipe;

/// Reads the text.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match Recipe::parse("server.toml", text) {
        Ok(recipe) => {
            assert!(!recipe.start.command.is_empty() && !recipe.title.is_empty());
            assert!(recipe.axes.iter().all(|axis| !axis.values.is_empty()), "an axis has a default");
            assert!(!recipe.start.ready_timeout().is_zero());
        }
        Err(e) => {
            let said = e.to_string();
            assert!((1..=text.lines().count().max(1) + 1).contains(&e.line()), "{said}");
            assert!(said.contains(' ') && !said.contains(['\n', '\r']), "{said:?} is no sentence");
        }
    }
}
