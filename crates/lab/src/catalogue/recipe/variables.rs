//! `{name}` in commands, environments and templates. Braces around anything but a name (`sed '{n;p}'`, nginx's blocks)
//! are text, and so is `${name}`, which belongs to a shell or to the server's own configuration.

use std::collections::BTreeMap;

use prony_model::units::OneOrMany;

pub(super) const BUILT_IN: [(&str, &str); 12] = [
    ("host", "the address to listen on"),
    ("port", "the port to listen on"),
    ("workers", "how many worker processes or threads to use"),
    ("run", "an empty folder for sockets, pid files, rendered templates and logs"),
    ("work", "the copy of the recipe's folder"),
    ("venv", "the virtual environment of Python"),
    ("user", "the user that Prony runs as"),
    ("unprivileged_user", "a user without rights, if Prony is root; else the same as user"),
    ("ext", "the folder of the PHP extensions that pecl names"),
    ("opt", "the folder of what download brings"),
    ("cert", "a certificate for {host}, PEM, made for each start of a server that speaks TLS"),
    ("key", "the key of that certificate, PEM"),
];

/// A text, which may stand inside an argument; or a list, which is a whole argument and becomes one for each element.
pub(crate) type Var = OneOrMany<String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|i| from + i) {
        from = open + 1;
        let Some(close) = text[from..].find('}').map(|i| from + i) else { break };
        let name = &text[from..close];
        if !is_name(name) || text[..open].ends_with('$') {
            continue;
        }
        if start < open {
            out.push(Piece::Text(&text[start..open]));
        }
        out.push(Piece::Name(name));
        (start, from) = (close + 1, close + 1);
    }
    if start < text.len() {
        out.push(Piece::Text(&text[start..]));
    }
    out
}

/// Names of variables: a lower-case letter, then lower-case letters, digits and underscores.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    values: BTreeMap<String, Vec<String>>,
    lists: Vec<String>,
}

impl Values {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.insert(name.to_owned(), vec![value.into()]);
    }

    /// Sets a recipe's variable, whose own text may hold the variables set so far.
    pub(crate) fn set_var(&mut self, name: &str, value: &Var, built_in: &Values) {
        match value {
            Var::One(text) => self.set(name, built_in.replace(text)),
            Var::Many(texts) => {
                self.values.insert(name.to_owned(), texts.iter().map(|t| built_in.replace(t)).collect());
                self.lists.push(name.to_owned());
            }
        }
    }

    /// A text with every known variable replaced; a list is joined by blanks, unknown names stay.
    pub(crate) fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Name(name) => match self.values.get(name) {
                    Some(value) => out.push_str(&value.join(" ")),
                    None => {
                        out.push('{');
                        out.push_str(name);
                        out.push('}');
                    }
                },
            }
        }
        out
    }

    /// A command's arguments; an argument that is one list variable becomes as many as the list has.
    pub(crate) fn argv(&self, command: &[String]) -> Vec<String> {
        let mut argv = Vec::with_capacity(command.len());
        for argument in command {
            match pieces(argument)[..] {
                [Piece::Name(name)] if self.lists.iter().any(|l| l == name) => {
                    argv.extend(self.values.get(name).into_iter().flatten().cloned());
                }
                _ => argv.push(self.replace(argument)),
            }
        }
        argv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_in_braces_is_a_variable() {
        use Piece::{Name, Text};
        assert_eq!(pieces("{host}:{port}"), [Name("host"), Text(":"), Name("port")]);
        assert_eq!(pieces("a{n;s/x/y/;p}b"), [Text("a{n;s/x/y/;p}b")]);
        assert_eq!(pieces("${port} {}{ {A} {open"), [Text("${port} {}{ {A} {open")]);
        assert_eq!(
            pieces("server { listen {port}; }"),
            [Text("server { listen "), Name("port"), Text("; }")]
        );
    }

    #[test]
    fn a_list_as_a_whole_argument_becomes_several_or_none() {
        let mut values = Values::default();
        values.set("port", "80");
        let built_in = values.clone();
        values.set_var("flags", &Var::Many(vec!["-d".into(), "x={port}".into()]), &built_in);
        values.set_var("none", &Var::Many(vec![]), &built_in);
        let command: Vec<String> =
            ["php", "{flags}", "{none}", "-S:{port}", "{else}"].map(String::from).into();
        assert_eq!(values.argv(&command), ["php", "-d", "x=80", "-S:80", "{else}"]);
        assert_eq!(values.replace("{flags} {unknown} {none}"), "-d x=80 {unknown} ");
    }
}
