//! Lines of a capture to frames, each joined to what it answers.
//!
//! A plain line is a frame of a known connection that leaves no other request unanswered, in JSON without escapes and
//! spaces. All else goes to Python (`kafka_rack/wire_capture/lines.py`), before anything of it was noted.
use crate::joining::{item, number, Classes, Joiner};
use crate::object::Held;
use base64_simd::STANDARD;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Microseconds since 1970 at the end of the year 9999 (`LATEST` of `lines.py`).
pub const LATEST: i64 = 253_402_300_799_999_999;

/// A line that is a frame.
struct Line<'a> {
    ts: i64,
    connection: i64,
    is_request: bool,
    encoded: &'a [u8],
    size: Option<i64>,
}

/// Reads JSON without spaces, escapes and what is no ASCII; anything else is refused.
struct Json<'a>(&'a [u8]);

impl<'a> Json<'a> {
    fn pass(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        self.pass(b'"')?;
        let end = memchr::memchr(b'"', self.0)?;
        let (found, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(found)
    }

    fn number(&mut self) -> Option<i64> {
        let end = self.0.iter().position(|byte| !byte.is_ascii_digit())?;
        let (found, rest) = self.0.split_at(end);
        if end == 0 || end > 18 || (found[0] == b'0' && end > 1) {
            return None;
        }
        self.0 = rest;
        Some(found.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }
}

fn line_of(text: &[u8]) -> Option<Line<'_>> {
    let mut json = Json(text);
    let (mut ts, mut connection, mut is_request, mut encoded, mut size) = (None, None, None, None, None);
    json.pass(b'{')?;
    loop {
        let name = json.text()?;
        json.pass(b':')?;
        let is_new = match name {
            b"t" => ts.replace(json.number()?).is_none(),
            b"conn" => connection.replace(json.number()?).is_none(),
            b"n" => size.replace(json.number()?).is_none(),
            b"dir" => match json.text()? {
                b"req" => is_request.replace(true).is_none(),
                b"resp" => is_request.replace(false).is_none(),
                _ => return None,
            },
            b"data" => encoded.replace(json.text()?).is_none(),
            _ => return None,
        };
        if !is_new {
            return None;
        }
        if json.pass(b',').is_none() {
            break;
        }
    }
    if json.0 != b"}" {
        return None;
    }
    let ts = ts.filter(|ts| *ts <= LATEST)?;
    Some(Line { ts, connection: connection?, is_request: is_request?, encoded: encoded?, size })
}

/// The bytes behind base64 with its padding, whose last bits are zero.
fn base64(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.clear();
    STANDARD.decode_append(text, out).ok()
}

/// Reads the lines of one capture.
#[pyclass]
pub struct LineReader {
    reader: Py<PyAny>,
    joiner: Joiner,
    data: Vec<u8>,
    text: Py<PyBytes>,
    at: usize,
    begins: i64,
    connections: Py<PyAny>,
}

#[pymethods]
impl LineReader {
    /// Of the reader in Python, and of what `Joiner::new` takes.
    #[new]
    fn new(
        reader: Bound<'_, PyAny>,
        state: Py<PyAny>,
        classes: Classes<'_>,
        functions: (Py<PyAny>, Py<PyAny>),
        bounds: (i64, i64),
    ) -> PyResult<LineReader> {
        let py = reader.py();
        Ok(LineReader {
            text: PyBytes::new(py, b"").unbind(),
            connections: state.getattr(py, pyo3::intern!(py, "connections"))?,
            joiner: Joiner::new(state, &classes, functions, bounds)?,
            reader: reader.unbind(),
            data: Vec::new(),
            at: 0,
            begins: 0,
        })
    }

    /// An iterator over the frames of lines; the first of them begins at `begins`.
    fn frames<'py>(mut slf: PyRefMut<'py, Self>, text: Py<PyBytes>, begins: i64) -> PyResult<PyRefMut<'py, Self>> {
        (slf.text, slf.at, slf.begins) = (text, 0, begins);
        let py = slf.py();
        slf.joiner.begin(py)?;
        Ok(slf)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let text = self.text.clone_ref(py);
        let text = text.as_bytes(py);
        while self.at < text.len() {
            let rest = &text[self.at..];
            let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
            let begins = self.begins + self.at as i64;
            self.at += line.len() + 1;
            if line.is_empty() {
                continue;
            }
            if let Some(plain) = line_of(line) {
                if let Some(frame) = self.plain(py, &plain, begins)? {
                    // SAFETY: the frame is a new reference.
                    return Ok(Some(unsafe { Bound::from_owned_ptr(py, frame.into_ptr()) }));
                }
            }
            self.joiner.note(py)?;
            let found = self.reader.bind(py).call_method1("frame_in", (PyBytes::new(py, line), begins))?;
            self.joiner.begin(py)?;
            if !found.is_none() {
                return Ok(Some(found));
            }
        }
        self.joiner.note(py)?;
        Ok(None)
    }
}

impl LineReader {
    /// The frame of a line; `None`: it is not plain, and nothing was noted.
    fn plain(&mut self, py: Python<'_>, line: &Line<'_>, begins: i64) -> PyResult<Option<Held>> {
        if base64(line.encoded, &mut self.data).is_none()
            || line.size.is_some_and(|size| size != self.data.len() as i64)
        {
            return Ok(None);
        }
        let key = number(py, line.connection)?;
        let Some(connection) = item(py, self.connections.as_ptr(), &key)? else { return Ok(None) };
        let joined = self.joiner.join(py, connection, line.is_request, &self.data, (line.ts, begins))?;
        Ok(joined.map(|joined| joined.frame))
    }
}
