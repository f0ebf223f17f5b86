//! A request's body: from text, files and fields of forms.

use super::meaning::{FILE_MAX_BYTES, text_or_file};
use super::{LoadOptions, ReadFile};
use crate::error::{PlanError, wrong};
use crate::fnv::fnv1a;
use crate::plan::BodyFile;
use crate::secret::{
    ASKED, Secret, gives, is_secret_by_custom, remember_body, remember_credentials, text_or_variable,
};

/// The most fields of a form.
const FIELDS_MAX: usize = 1_000;

/// What a load sends with every request.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// With its fingerprint.
    pub(super) file: Option<(BodyFile, u32)>,
    /// The header that says what it is, where none is given.
    pub(super) content_type: Option<(String, Secret)>,
}

impl LoadOptions {
    /// How many of the options that give a body are given.
    pub(super) fn bodies(&self) -> usize {
        let given = [
            self.body.is_some(),
            self.body_file.is_some(),
            self.form.is_some(),
            self.form_urlencoded.is_some(),
        ];
        given.into_iter().filter(|given| *given).count()
    }

    pub(super) fn body(&self, headers: &[(String, Secret)], read: ReadFile<'_>) -> Result<Body, PlanError> {
        if self.bodies() > 1 {
            return wrong("A request has one body: give one of -b, --body-file, -F and --form-urlencoded.");
        }
        let fields = self.form.iter().chain(&self.form_urlencoded).map(Vec::len).sum::<usize>();
        if fields > FIELDS_MAX {
            return wrong(format!("A form of over {FIELDS_MAX} fields: give fewer."));
        }
        let (bytes, content_type) = match (&self.body, &self.form, &self.form_urlencoded) {
            (Some(text), ..) => (text_or_file("-b", text, read)?, None),
            (_, Some(fields), _) => {
                let (bytes, boundary) = multipart(fields, read)?;
                (bytes, Some(format!("multipart/form-data; boundary={boundary}")))
            }
            (.., Some(fields)) => (urlencoded(fields)?, Some("application/x-www-form-urlencoded".to_owned())),
            _ => (Vec::new(), None),
        };
        let content_type = content_type.filter(|_| !gives(headers, "content-type"));
        let content_type = content_type.map(|value| {
            let value = Secret::of_header("Content-Type", &value).map_err(PlanError)?;
            Ok(("Content-Type".to_owned(), value))
        });
        let file = self.body_file.as_deref().map(BodyFile::at).transpose()?;
        Ok(Body { bytes, file, content_type: content_type.transpose()? })
    }
}

/// A field's name and what is behind its `=`.
fn field<'t>(flag: &str, text: &'t str) -> Result<(&'t str, &'t str), PlanError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            if is_secret_by_custom(name) && !value.starts_with('@') {
                remember_credentials(value);
            }
            Ok((name, value))
        }
        // The text may be a secret.
        _ => wrong(format!("A field of {flag} has no name: write name=value.")),
    }
}

fn urlencoded(fields: &[String]) -> Result<Vec<u8>, PlanError> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for text in fields {
        let (name, value) = field("--form-urlencoded", text)?;
        form.append_pair(name, &text_or_variable("--form-urlencoded", value).map_err(PlanError)?);
    }
    let bytes = form.finish().into_bytes();
    remember_body(&bytes, false);
    Ok(bytes)
}

/// The body as RFC 7578 has it, and its boundary, a function of the content alone.
fn multipart(fields: &[String], read: ReadFile<'_>) -> Result<(Vec<u8>, String), PlanError> {
    let mut parts = Vec::new();
    let mut total = 0;
    for text in fields {
        let (name, value) = field("-F", text)?;
        let is_file = value.starts_with('@') && !value.starts_with(ASKED);
        let (value, kind) = match value.rsplit_once(";type=") {
            Some((path, kind)) if is_file => (path, kind),
            _ => (value, "application/octet-stream"),
        };
        if kind.is_empty() || kind.chars().any(char::is_control) {
            return wrong("-F: what is behind ;type= is no media type: write one as image/png.");
        }
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", escaped(name));
        if is_file {
            let file = value[1..].rsplit('/').next().unwrap_or_default();
            head.push_str(&format!("; filename=\"{}\"\r\nContent-Type: {kind}", escaped(file)));
        }
        let content = text_or_file("-F", value, read)?;
        total += content.len() as u64;
        if total > FILE_MAX_BYTES {
            return wrong(format!(
                "The form is larger than {} MiB: give smaller files.",
                FILE_MAX_BYTES >> 20
            ));
        }
        parts.push((head, content));
    }
    let hash = fnv1a(parts.iter().flat_map(|(head, content)| head.bytes().chain(content.iter().copied())));
    let occurs = |boundary: &str| {
        let boundary = boundary.as_bytes();
        parts.iter().any(|(_, content)| content.windows(boundary.len()).any(|window| window == boundary))
    };
    let boundary = (0u64..).map(|try_no| format!("prony-{:016x}", hash.wrapping_add(try_no)));
    let boundary = boundary.into_iter().find(|boundary| !occurs(boundary)).unwrap_or_default();
    let mut body = Vec::new();
    for (head, content) in &parts {
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((body, boundary))
}

/// A name in quotes, as browsers write it (WHATWG HTML, multipart/form-data encoding).
fn escaped(name: &str) -> String {
    name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(form: &[&str]) -> Result<String, PlanError> {
        let form: Vec<String> = form.iter().map(|field| (*field).to_owned()).collect();
        let read = |path: &str, _: u64| Ok(format!("<{path}>").into_bytes());
        let (body, boundary) = multipart(&form, &read)?;
        Ok(String::from_utf8(body).unwrap().replace(&boundary, "B"))
    }

    #[test]
    fn a_multipart_form_has_its_fields_and_files() {
        let got = text(&["a=1", "b\"=x=y", "f=@dir/p.png;type=image/png", "g=@q"]).unwrap();
        let want = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
                    --B\r\nContent-Disposition: form-data; name=\"b%22\"\r\n\r\nx=y\r\n\
                    --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\
                    <dir/p.png>\r\n\
                    --B\r\nContent-Disposition: form-data; name=\"g\"; filename=\"q\"\r\nContent-Type: application/octet-stream\r\n\r\n\
                    <q>\r\n--B--\r\n";
        assert_eq!(got, want);
        assert!(text(&["novalue"]).is_err() && text(&["=x"]).is_err() && text(&["a=@b;type="]).is_err());
    }

    #[test]
    fn a_files_name_may_have_an_at_sign() {
        assert!(text(&["f=@@dir/a@b.png"]).unwrap().contains("filename=\"a@b.png\""));
        assert!(text(&["f=@@a@b.png"]).unwrap().contains("filename=\"@a@b.png\""));
    }

    #[test]
    fn a_boundary_is_none_of_the_content() {
        let (_, boundary) = multipart(&["a=1".to_owned()], &|_, _| Ok(Vec::new())).unwrap();
        let inside = format!("a={boundary}");
        let (body, other) = multipart(&[inside], &|_, _| Ok(Vec::new())).unwrap();
        assert_eq!(String::from_utf8(body).unwrap().matches(&other).count(), 2);
    }

    #[test]
    fn a_urlencoded_form_escapes_its_fields() {
        let fields = ["a=1 2", "b&=ä=", "c="].map(str::to_owned);
        assert_eq!(String::from_utf8(urlencoded(&fields).unwrap()).unwrap(), "a=1+2&b%26=%C3%A4%3D&c=");
        assert!(urlencoded(&["x".to_owned()]).is_err());
    }
}
