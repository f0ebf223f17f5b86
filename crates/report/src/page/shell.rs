//! The HTML file around the data: it loads nothing, and its
//! Content-Security-Policy lets it load nothing.

use super::data::Chunk;

/// Why there is no page: a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "This prony was built without its web page, which needs Node 20 to be built: run `make build` where it is installed, \
     or take another --format."
)]
pub struct NoPage;

/// The front end, as built.
#[derive(Debug, Clone, Copy)]
pub struct App<'a> {
    /// Its script.
    pub(super) script: &'a str,
    /// Its style.
    pub(super) style: &'a str,
    /// The SHA-256 of its script in base64, by which the policy knows it.
    pub(super) hash: &'a str,
}

/// What the live page may do beside a report: listen to the server it came from.
pub const POLICY_LIVE: &str = "connect-src 'self'";

impl App<'static> {
    /// The one inside this binary.
    ///
    /// # Errors
    /// When it was built without.
    pub fn embedded() -> Result<App<'static>, NoPage> {
        let app = App {
            script: include_str!(concat!(env!("OUT_DIR"), "/app.js")),
            style: include_str!(concat!(env!("OUT_DIR"), "/app.css")),
            hash: include_str!(concat!(env!("OUT_DIR"), "/app.sha256")),
        };
        if app.script.is_empty() { Err(NoPage) } else { Ok(app) }
    }
}

impl App<'_> {
    /// What the page may do, as a header or a `<meta>` has it: run the script
    /// whose hash this is and no other, be styled from within, and draw pictures that it made itself.
    pub fn policy(&self, beside: &str) -> String {
        let beside = if beside.is_empty() { String::new() } else { format!("; {beside}") };
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; \
             base-uri 'none'; form-action 'none'{beside}",
            self.hash.trim()
        )
    }

    /// The file: `data` is JSON; `beside` is what its policy allows beside a report's; chunks stand after the script, so
    /// that the first view waits for none.
    pub(super) fn file(&self, title: &str, data: &str, beside: &str, chunks: &[Chunk]) -> String {
        let policy = self.policy(beside);
        let (title, data) = (escape(title), script_safe(data));
        let version = escape(&prony_model::Tool::this().version);
        let (style, script) = (self.style, self.script);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"generator\" content=\"prony {version}\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
             <noscript><p>{title}</p><p>This page draws with JavaScript, which is off. <code>prony report RUN</code> \
             shows the same run in a terminal, <code>--format markdown</code> as text.</p></noscript>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{script}</script>\n"
        );
        html.reserve(chunks.iter().map(|c| c.text.len() + 64).sum());
        for chunk in chunks {
            html.push_str("<script type=\"text/plain\" id=\"");
            html.push_str(&chunk.name);
            html.push_str("\">");
            html.push_str(&chunk.text);
            html.push_str("</script>\n");
        }
        html.push_str("</body>\n</html>\n");
        html
    }
}

/// Text that stays text between tags and in quotes.
pub(crate) fn escape(text: &str) -> String {
    crate::format::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// JSON that cannot end the script element it stands in, nor break a line of
/// JavaScript. All five characters occur in JSON only within strings.
fn script_safe(json: &str) -> String {
    json.replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
