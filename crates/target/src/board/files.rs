//! The files under `/static/`: made of pseudo-random words and bytes, each when it is first asked for.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Name, type, bytes, and whether it is text, of which a compressed form is held, too.
const FILES: [(&str, &str, usize, bool); 20] = [
    ("reset.css", "text/css", 8_000, true),
    ("layout.css", "text/css", 25_000, true),
    ("theme.css", "text/css", 35_000, true),
    ("components.css", "text/css", 60_000, true),
    ("utilities.css", "text/css", 40_000, true),
    ("analytics.js", "text/javascript", 12_000, true),
    ("helpers.js", "text/javascript", 20_000, true),
    ("app.js", "text/javascript", 60_000, true),
    ("vendor.js", "text/javascript", 120_000, true),
    ("router.js", "text/javascript", 30_000, true),
    ("header.html", "text/html", 20_000, true),
    ("footer.html", "text/html", 15_000, true),
    ("regular.woff2", "font/woff2", 22_000, false),
    ("bold.woff2", "font/woff2", 18_000, false),
    ("logo.svg", "image/svg+xml", 15_000, true),
    ("icon-sprite.svg", "image/svg+xml", 40_000, true),
    ("hero.webp", "image/webp", 45_000, false),
    ("thumb1.webp", "image/webp", 8_000, false),
    ("thumb2.webp", "image/webp", 6_000, false),
    ("manifest.json", "application/json", 3_000, true),
];
static MADE: [OnceLock<File>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
/// 3 bits of information in some 7 bytes: about what a program's text has.
const WORDS: [&str; 8] = ["margin", "border", "return", "display", "0", "section", "function", "value"];

pub(super) struct File {
    pub(super) plain: Vec<u8>,
    /// By gzip.
    pub(super) packed: Option<Vec<u8>>,
}

pub(super) fn number(name: &str) -> Option<u8> {
    FILES.iter().position(|(one, ..)| *one == name).map(|at| at as u8)
}

/// The type and the content of a file by its [`number`].
pub(super) fn file(number: u8) -> (&'static str, &'static File) {
    let at = usize::from(number);
    let (name, kind, bytes, is_text) = FILES[at];
    let make = || {
        let mut random = ChaCha8Rng::seed_from_u64(number.into());
        let mut plain = vec![0; bytes];
        if is_text {
            plain = words(&mut random, bytes, name.ends_with(".json"));
        } else {
            random.fill_bytes(&mut plain);
        }
        File { packed: is_text.then(|| gzip(&plain, Compression::best())), plain }
    };
    (kind, MADE[at].get_or_init(make))
}

/// So many bytes of words; as JSON, of one string.
fn words(random: &mut ChaCha8Rng, bytes: usize, as_json: bool) -> Vec<u8> {
    let mut text = if as_json { b"\"".to_vec() } else { Vec::new() };
    while text.len() < bytes {
        text.extend_from_slice(WORDS[random.next_u32() as usize % WORDS.len()].as_bytes());
        text.push(b' ');
    }
    text.truncate(bytes);
    if as_json && let Some(last) = text.last_mut() {
        *last = b'"';
    }
    text
}

pub(super) fn gzip(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), level);
    // Writing to a Vec cannot fail.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_default()
}
