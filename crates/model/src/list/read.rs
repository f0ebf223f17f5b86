//! From a file of any format to a list: each line becomes a request or a sentence.

use super::reader::Reader;
use super::{Format, ListError, Order, TargetList, curl, json_lines, plain, raw, vegeta};
use crate::input::ReadFile;
use crate::target::Target;

impl TargetList {
    /// Reads a list of plain lines: a URL or `METHOD URL` each, or only a path where `server` is known; empty lines and
    /// `#` are skipped. Without a `server`, whole URLs may name several. Gives the (first) server as a target without a
    /// path, and the list.
    pub fn parse(
        text: &[u8],
        server: Option<&Target>,
        method: &str,
        order: Order,
    ) -> Result<(Target, TargetList), ListError> {
        let no_files = |_: &str, _: u64| Err("it names no file".to_owned());
        let read = TargetList::read(text, Some(Format::Plain), server, method, order, &no_files);
        read.map_err(|mut errors| errors.swap_remove(0))
    }

    /// The same in any format, told by its content where it is not said: of a folder the text is its path. Files that
    /// lines name are read by `read`. Gives at most [`ERRORS_MAX`] errors, and one at least.
    pub fn read(
        text: &[u8],
        format: Option<Format>,
        server: Option<&Target>,
        method: &str,
        order: Order,
        read: ReadFile<'_>,
    ) -> Result<(Target, TargetList), Vec<ListError>> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let nowhere = |why| vec![ListError { line: None, why }];
        let format = format.map_or_else(|| Format::of(text), Ok).map_err(nowhere)?;
        let mut reader = Reader::new(server, method, order, format, read);
        requests(&mut reader, text);
        reader.finish()
    }
}

pub(super) fn requests(reader: &mut Reader<'_>, text: &[u8]) {
    match reader.format() {
        Format::Plain => plain::read(reader, text),
        Format::Vegeta => vegeta::read_text(reader, text),
        Format::VegetaJson => vegeta::read_json(reader, text),
        Format::Curl => curl::read(reader, text),
        Format::Raw => raw::read(reader, text),
        Format::Jsonl => json_lines::read(reader, text),
    }
}
