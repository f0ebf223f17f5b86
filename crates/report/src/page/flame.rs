//! A flame graph as an image: an SVG that runs nothing. Each part is as wide as its CPU time per request in B; its colour is
//! how it grew from A.

use prony_analysis::profile::FlamePart;
use prony_model::printable::harmless;
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::ProfileTable;

const WIDTH: f64 = 1_200.0;
const ROW: f64 = 18.0;
const CHARACTER: f64 = 6.7;
/// Narrower parts have no name on them.
const NAMED_FROM: f64 = 24.0;

/// Where CPU time per request grew.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Profile {
    #[serde(flatten)]
    pub(super) table: ProfileTable,
    /// The flame graph, as an address that holds it.
    pub(super) image: String,
}

pub(super) fn image(parts: &[FlamePart]) -> String {
    address(&svg(parts))
}

/// `data:image/svg+xml,%3Csvg…`: packed with the page's data it is shorter than in base64.
fn address(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'_'
            | b'.'
            | b'='
            | b'/'
            | b':'
            | b','
            | b';' => {
                address.push(char::from(byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address
}

fn svg(parts: &[FlamePart]) -> String {
    let rows = parts.iter().map(|part| part.depth + 1).max().unwrap_or(0) as f64;
    // The whole is not one of those that differ.
    let most = parts.iter().skip(1).map(|part| part.growth_ns.abs()).fold(0.0, f64::max);
    let height = rows * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" \
         font-size=\"11\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for part in parts {
        let (x, width) = (part.start * WIDTH, part.share * WIDTH);
        let y = height - (part.depth as f64 + 1.0) * ROW;
        let name = harmless(&part.function);
        let shown = name.chars().take(((width - 6.0) / CHARACTER).max(0.0) as usize).collect::<String>();
        let text = if width < NAMED_FROM {
            String::new()
        } else {
            format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 3.0, y + 12.5, escaped(&shown))
        };
        out.push_str(&format!(
            "<g><title>{}: {:+.1} µs a request</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"{}\"/>{text}</g>",
            escaped(&name),
            part.growth_ns / 1_000.0,
            (width - 0.5).max(0.5),
            ROW - 1.0,
            fill(part.growth_ns / most.max(f64::MIN_POSITIVE))
        ));
    }
    out + "</svg>"
}

/// Red where it grew, blue where it shrank, the paler the less: a share of the most that one of them did.
fn fill(share: f64) -> String {
    let pale = 235.0 - 145.0 * share.abs().min(1.0);
    let pale = pale.round() as u8;
    if share < 0.0 { format!("#{pale:02x}{pale:02x}eb") } else { format!("#eb{pale:02x}{pale:02x}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(function: &str, depth: usize, (start, share): (f64, f64), growth_ns: f64) -> FlamePart {
        FlamePart { function: function.to_owned(), depth, start, share, growth_ns }
    }

    #[test]
    fn an_image_is_one_xml_file_that_runs_nothing() {
        let parts = [
            part("all", 0, (0.0, 1.0), 900_000.0),
            part("operator<</script><script>x(\u{1b}\"&", 1, (0.0, 0.5), 500_000.0),
            part("narrow", 1, (0.5, 0.01), -20_000.0),
        ];
        let svg = svg(&parts);
        let xml = roxmltree::Document::parse(&svg).unwrap();
        let count = |name: &str| {
            xml.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name))).count()
        };
        assert_eq!((count("rect"), count("text"), count("title"), count("script")), (4, 2, 3, 0));
        let title = xml.descendants().rfind(|node| node.tag_name().name() == "title").unwrap();
        assert_eq!(title.text(), Some("narrow: -20.0 µs a request"));
        assert!(
            !svg.contains('\u{1b}') && svg.contains("fill=\"#eb5a5a\"") && svg.contains("#e5e5eb"),
            "{svg}"
        );
        let address = address(&svg);
        assert!(address.starts_with("data:image/svg+xml,%3Csvg xmlns=%22"), "{address}");
        assert!(!address.contains(['<', '>', '"', '#', '&']), "{address}");
    }
}
