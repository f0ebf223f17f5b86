//! One self-contained HTML file: it loads nothing, and says so in its
//! Content-Security-Policy.
//!
//! Tables and plots are rendered here, so that the page is whole without
//! JavaScript; the script only sorts, toggles and switches. The data are
//! inlined as JSON for whoever wants to go on from the page alone.

mod by_request;
mod curves;
mod dots;
mod experiment;
mod lines;
mod svg;
mod table;
#[cfg(test)]
mod tests;
mod trials;

pub use experiment::experiment;
pub use trials::trials;

use svg::escape;

const CSS: &str = include_str!("../../../../web/report.css");
const JS: &str = include_str!("../../../../web/report.js");

/// Nothing may be loaded, sent or framed; the page's own style and script may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// The whole file around a page's body. `data` is JSON.
fn page(title: &str, body: &str, data: &str) -> String {
    let title = escape(title);
    let version = escape(&prony_record::Tool::this().version);
    let data = script_safe(data);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"prony {version}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n\
         {body}\n<footer class=\"foot\">Made by Prony {version}. This file loads nothing from anywhere.</footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{JS}</script>\n</body>\n</html>\n"
    )
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

/// `1 trial`, `5 trials`.
fn count_of(n: usize, singular: &str, plural: &str) -> String {
    crate::format::count(n as u64, singular, plural)
}

/// A legend; the script makes its entries buttons that show and hide what has their colour in the same figure.
fn legend(entries: impl Iterator<Item = (usize, String)>) -> String {
    let items: Vec<String> = entries
        .map(|(k, name)| {
            let (class, name) = (svg::color(k), escape(&name));
            format!(
                "<li class=\"{class}\" data-k=\"{k}\"><svg class=\"swatch\" viewBox=\"0 0 22 8\" aria-hidden=\"true\">\
                 <path class=\"line\" d=\"M1 4H21\"/></svg>{name}</li>"
            )
        })
        .collect();
    format!("<ul class=\"legend\">{}</ul>", items.concat())
}

/// A list of a term and what is said of it; the second is markup.
fn facts(entries: &[(&str, String)]) -> String {
    let items: Vec<String> = entries
        .iter()
        .filter(|(_, said)| !said.is_empty())
        .map(|(term, said)| format!("<div><dt>{term}</dt><dd>{said}</dd></div>"))
        .collect();
    format!("<dl class=\"facts\">{}</dl>", items.concat())
}

/// The machine, as entries of [`facts`].
fn host_facts(host: &prony_record::host::Host) -> Vec<(&'static str, String)> {
    let optional = |text: &Option<String>| text.as_deref().map(escape).unwrap_or_default();
    let cpus = crate::format::count(host.cpus_online.into(), "CPU", "CPUs");
    vec![
        ("Processor", format!("{}, {cpus}", escape(&host.cpu_model))),
        ("Memory", crate::format::bytes(host.memory_bytes as f64)),
        ("System", escape(&host.os)),
        ("Kernel", escape(&host.kernel)),
        ("Virtualisation", optional(&host.virtualisation)),
        ("Governor", optional(&host.governor)),
        ("Open files", format!("{} soft, {} hard", host.open_files_soft, host.open_files_hard)),
        ("Ephemeral ports", format!("{}–{}", host.ephemeral_port_low, host.ephemeral_port_high)),
        ("Accept queue", format!("{} at most", host.somaxconn)),
    ]
}
