//! Vectors that others publish, where a folder with them is named. They are not ours to copy:
//!
//!     git clone https://github.com/http2jp/hpack-test-case
//!     git clone https://github.com/http2jp/http2-frame-test-case
//!     PRONY_HPACK_VECTORS=hpack-test-case PRONY_FRAME_VECTORS=http2-frame-test-case cargo test -p prony-http2 vectors

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Fault;
use crate::frame::{Piece, Reader, Settings, kind};
use crate::hpack::{Decoder, TABLE_MAX_BYTES};

/// All JSON files below the folder that a variable names; `None`, with a note, where it names none.
fn vectors(variable: &str) -> Option<Vec<(PathBuf, Value)>> {
    let Some(folder) = std::env::var_os(variable) else {
        println!("skipped: {variable} names no folder with vectors");
        return None;
    };
    let mut files = Vec::new();
    read_below(Path::new(&folder), &mut files);
    assert!(!files.is_empty(), "{variable} names a folder without JSON files");
    Some(files)
}

fn read_below(folder: &Path, files: &mut Vec<(PathBuf, Value)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((path, serde_json::from_str(&text).unwrap()));
        }
    }
}

/// The bytes of a file's `wire`; `None` where it has none.
fn wire(value: &Value) -> Option<Vec<u8>> {
    let text = value["wire"].as_str()?;
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[test]
fn hpack_vectors_of_others_are_read_as_they_mean() {
    let Some(files) = vectors("PRONY_HPACK_VECTORS") else { return };
    let (mut read, mut skipped) = (0, 0);
    for (path, story) in files {
        let cases = story["cases"].as_array().unwrap();
        let most = TABLE_MAX_BYTES as u64;
        let fits = |case: &Value| case["header_table_size"].as_u64().is_none_or(|size| size <= most);
        if !cases.iter().all(|case| wire(case).is_some() && fits(case)) {
            skipped += 1;
            continue;
        }
        let mut decoder = Decoder::new();
        for case in cases {
            let block = wire(case).unwrap();
            let mut got = Vec::new();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            decoder.decode(&block, |name, value| got.push((text(name), text(value)))).unwrap();
            let fields = case["headers"].as_array().unwrap().iter().flat_map(|one| one.as_object().unwrap());
            let want: Vec<(String, String)> =
                fields.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
            assert_eq!(got, want, "{}", path.display());
        }
        read += 1;
    }
    println!("{read} stories read, {skipped} without blocks or with a larger table skipped");
    assert!(read > 0);
}

/// What the frame behind a connection's first SETTINGS is.
fn frame(wire: &[u8]) -> Result<(u32, u8, u8, u32), Fault> {
    let mut reader = Reader::default();
    let mut first: &[u8] = &[0, 0, 0, kind::SETTINGS, 0, 0, 0, 0, 0];
    reader.next(&mut first)?;
    let mut input = wire;
    match reader.next(&mut input)? {
        Piece::Whole(frame, payload) => {
            if frame.kind == kind::SETTINGS {
                Settings::of(payload)?;
            }
            Ok((frame.length, frame.kind, frame.flags, frame.stream))
        }
        Piece::Data { frame, .. } => Ok((frame.length, frame.kind, frame.flags, frame.stream)),
        Piece::More | Piece::Part(_) => Ok((0, u8::MAX, 0, 0)),
    }
}

#[test]
fn frame_vectors_of_others_are_read_as_they_mean() {
    let Some(files) = vectors("PRONY_FRAME_VECTORS") else { return };
    for (path, case) in files {
        let bytes = wire(&case).unwrap();
        // A client takes no PUSH_PROMISE, and CONTINUATION not alone; what else WINDOW_UPDATE may be is for the
        // connection to say.
        if [kind::PUSH_PROMISE, kind::CONTINUATION, kind::WINDOW_UPDATE].contains(&bytes[3]) {
            continue;
        }
        let got = frame(&bytes);
        if let Some(codes) = case["error"].as_array() {
            let code = got.unwrap_err().code.0;
            assert!(codes.iter().any(|one| one.as_u64() == Some(u64::from(code))), "{}", path.display());
        } else {
            let want = |name: &str| case["frame"][name].as_u64().unwrap() as u32;
            let want = (want("length"), want("type") as u8, want("flags") as u8, want("stream_identifier"));
            assert_eq!(got, Ok(want), "{}", path.display());
        }
    }
}
