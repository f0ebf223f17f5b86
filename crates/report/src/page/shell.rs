//! The HTML around the data: one file, which loads nothing, or a page of a site, whose program and style are beside it.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::data::Chunk;
use super::pack;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "This prony was built without its web page, which needs Node 20 to be built: run `make build` where it is installed, \
     or take another --format."
)]
pub struct NoPage;

#[derive(Debug, Clone, Copy)]
pub(crate) struct App<'a> {
    pub(super) program: &'a str,
    pub(super) loader: &'a str,
    pub(super) style: &'a str,
    /// What the policy knows both scripts by: `'sha256-…' 'sha256-…'`.
    pub(super) hashes: &'a str,
}

/// Data of so many bytes stand in the file as they are, for other programs to read; more are packed.
const PLAIN_MAX: usize = 64 << 10;

pub struct Asset {
    /// From the site's root. It names what is in it, so that it can be kept for ever.
    pub path: String,
    pub media_type: &'static str,
    pub text: String,
}

impl App<'static> {
    pub(super) fn embedded() -> Result<App<'static>, NoPage> {
        let app = App {
            program: include_str!(concat!(env!("OUT_DIR"), "/app.packed")),
            loader: include_str!(concat!(env!("OUT_DIR"), "/app.loader")),
            style: include_str!(concat!(env!("OUT_DIR"), "/app.css")),
            hashes: include_str!(concat!(env!("OUT_DIR"), "/app.sha256")),
        };
        if app.program.is_empty() { Err(NoPage) } else { Ok(app) }
    }
}

impl App<'_> {
    /// What a page may do, as a header or a `<meta>` has it: run the two scripts of these hashes, inline styles,
    /// pictures of its own; one of a site also loads that site's program and style, and listens to it.
    pub(super) fn policy(&self, of_site: bool) -> String {
        let (own, listens) = if of_site { (" 'self'", "; connect-src 'self'") } else { ("", "") };
        format!(
            "default-src 'none'; script-src {}{own}; style-src 'unsafe-inline'{own}; img-src data: blob:; \
             base-uri 'none'; form-action 'none'{listens}",
            self.hashes.trim()
        )
    }

    fn paths(&self) -> [String; 2] {
        let mut contents = DefaultHasher::new();
        (self.program, self.style).hash(&mut contents);
        ["js", "css"].map(|ending| format!("assets/{:016x}.{ending}", contents.finish()))
    }

    pub(super) fn assets(&self) -> [Asset; 2] {
        let [program, style] = self.paths();
        [
            Asset { path: program, media_type: "text/javascript", text: pack::unpacked(self.program) },
            Asset { path: style, media_type: "text/css", text: self.style.to_owned() },
        ]
    }

    /// The page: `data` is JSON; `site` is the way to the root of the site that it is a page of, `None` for one file. Chunks
    /// stand after the scripts, so that the first view waits for none but its data.
    pub(super) fn file(&self, title: &str, data: &str, site: Option<&str>, chunks: &[Chunk]) -> String {
        let policy = self.policy(site.is_some());
        let title = escape(title);
        let version = escape(&prony_model::Tool::this().version);
        let chunk =
            |name: &str, text: &str| format!("<script type=\"text/plain\" id=\"{name}\">{text}</script>\n");
        let (head, program) = match site {
            None => (format!("<style>{}</style>", self.style), chunk("program", self.program)),
            Some(root) => {
                let [program, style] = self.paths();
                let links = format!(
                    "<link rel=\"stylesheet\" href=\"{root}{style}\">\n\
                     <link rel=\"preload\" as=\"script\" id=\"program\" href=\"{root}{program}\">"
                );
                (links, String::new())
            }
        };
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"generator\" content=\"prony {version}\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n{head}\n</head>\n<body>\n<div id=\"app\"></div>\n\
             <noscript><p>{title}</p><p>This page draws with JavaScript, which is off. <code>prony report RUN</code> \
             shows the same run in a terminal, <code>--format markdown</code> as text.</p></noscript>\n"
        );
        html.push_str(&match data.len() {
            0..=PLAIN_MAX => {
                format!("<script type=\"application/json\" id=\"data\">{}</script>\n", script_safe(data))
            }
            _ => chunk("data", &pack::packed(data.as_bytes())),
        });
        html.push_str(&program);
        html.push_str(&format!("<script>{}</script>\n", self.loader));
        html.extend(chunks.iter().map(|each| chunk(&each.name, &each.text)));
        html.push_str("</body>\n</html>\n");
        html
    }
}

pub(crate) fn escape(text: &str) -> String {
    crate::format::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// JSON that cannot end its script element, nor break a line of JavaScript. All five occur only within strings.
fn script_safe(json: &str) -> String {
    json.replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::page::{self, tests::APP};

    #[test]
    fn a_page_of_a_site_loads_its_program_and_style() {
        let packed = pack::chunk(String::new(), &"program").text;
        let app = App { program: &packed, ..APP };
        let [program, style] = app.assets();
        assert_eq!((program.text.as_str(), style.text.as_str()), ("\"program\"", "p{}"));
        let page = page::file(&app, &fixtures::run(), Some("../"));
        for Asset { path, .. } in [&program, &style] {
            assert!(path.starts_with("assets/") && page.contains(&format!("href=\"../{path}\"")), "{path}");
        }
        assert!(page.contains("script-src 'sha256-aGFzaA==' 'self'; style-src 'unsafe-inline' 'self'"));
        assert!(page.contains("<script>load()</script>") && page.contains("connect-src 'self'"));
        assert!(!page.contains("<style>") && !page.contains(&packed), "they are not in every page");
        assert_eq!(page::tests::data(&page)["home"], "../");
        let [other, _] = App { style: "a{}", ..app }.assets();
        assert_ne!(program.path, other.path, "a path is of one contents");
    }
}
