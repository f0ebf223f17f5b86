//! Any bytes as a request for a page: one of a page's, or a refusal, wherever the network cut them.

use super::http::{Refusal, Request, parse};

/// Longer inputs are not read byte by byte: it would cost the fuzzer its speed.
const BYTEWISE_MAX_BYTES: usize = 4096;

/// Reads the bytes whole, and as they would come byte by byte.
pub fn check(input: &[u8]) {
    let whole = parse(input);
    if let Some(read) = &whole {
        sound(read);
    }
    if input.len() > BYTEWISE_MAX_BYTES {
        return;
    }
    // The first beginning that says something says the same as all of it.
    let first = (1..=input.len()).find_map(|length| parse(&input[..length]));
    assert_eq!(first, whole);
}

fn sound(read: &Result<Request, Refusal>) {
    match read {
        Ok(request) => {
            assert!(request.path.starts_with('/') && !request.path.contains('?'));
            let target = request.path.len() + request.query.len();
            assert!(target <= 1024, "{target} bytes");
            let texts = [&request.path, &request.query].into_iter().chain(&request.host);
            for text in texts.chain(&request.cookies) {
                assert!(!text.contains(['\r', '\n', '\0']), "{text:?}");
            }
        }
        Err(Refusal(status, why)) => {
            assert!([400, 405, 431].contains(status) && why.contains(' '), "{status} {why:?}");
        }
    }
}
