//! Lines of a capture to frames, each joined to what it answers.
//!
//! A plain line is a frame of a known connection that leaves no other request unanswered, in JSON without escapes and
//! spaces. All else goes to Python (`kafka_rack/wire_capture/lines.py`), before anything of it was noted.
use crate::class::{Class, Unfinished};
use crate::frames::{data_of, int, Read};
use crate::object::{Held, Obj};
use base64_simd::STANDARD;
use foldhash::{HashMap, HashMapExt as _};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{
    PyBytes_FromStringAndSize, PyDict_Check, PyDict_DelItem, PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem,
    PyDict_Size, PyLong_FromLongLong, PyTuple_New, Py_False, Py_True, Py_ssize_t,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

/// Microseconds since 1970 at the end of the year 9999 (`LATEST` of `lines.py`).
const LATEST: i64 = 253_402_300_799_999_999;
/// Bounds of `frames.py`.
const MIN_REQUEST_BYTES: usize = 8;
const MIN_RESPONSE_BYTES: usize = 4;
const NO_CLIENT_ID: &[u8] = b"\0\x07\0\0";
const MAX_REMEMBERED: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 1 << 20;

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

/// A request's header without its correlation id, as `head_of` of `frames.py`.
fn head_of(data: &[u8], head: &mut Vec<u8>) {
    head.clear();
    head.extend_from_slice(&data[..4]);
    if data.len() < 10 || data.starts_with(NO_CLIENT_ID) {
        return;
    }
    let length = i16::from_be_bytes([data[8], data[9]]);
    let end = match usize::try_from(length) {
        Ok(size) if size > 0 && size <= data.len() - 10 => 10 + size,
        _ => 10,
    };
    head.extend_from_slice(&data[8..end]);
}

/// The kind of requests with the same head.
struct Kind {
    object: Py<PyAny>,
    /// Requests may want no answer: Python looks.
    is_produce: bool,
}

/// Reads the lines of one capture.
#[pyclass]
pub struct LineReader {
    reader: Py<PyAny>,
    state: Py<PyAny>,
    kind_of: Py<PyAny>,
    acks_of: Py<PyAny>,
    frame: Making<10>,
    asked: Making<6>,
    read_asked: Read<2>,
    connection: Read<2>,
    bounds: (i64, i64),
    kinds: HashMap<Vec<u8>, Kind>,
    kinds_bytes: usize,
    data: Vec<u8>,
    head: Vec<u8>,
    text: Py<PyBytes>,
    at: usize,
    begins: i64,
    /// Of the state, while Python reads nothing.
    index: i64,
    connections: Py<PyAny>,
}

/// A class whose instances are made.
struct Making<const COUNT: usize> {
    class: Class,
    places: [usize; COUNT],
}

impl<const COUNT: usize> Making<COUNT> {
    fn new(class: &Bound<'_, PyType>, names: [&str; COUNT]) -> PyResult<Self> {
        let Read { class, places } = Read::new(class, names)?;
        Ok(Making { class, places })
    }

    fn make(&self, py: Python<'_>, values: [Held; COUNT]) -> PyResult<Held> {
        let failed = || PyErr::take(py).unwrap_or_else(|| PyTypeError::new_err("an object cannot be made"));
        // SAFETY: all fields are set, at places of the class.
        unsafe {
            let mut made: Unfinished = self.class.begin().ok_or_else(failed)?;
            for (place, value) in self.places.iter().zip(values) {
                made.set(*place, value);
            }
            self.class.finish(made).ok_or_else(failed)
        }
    }
}

fn number(py: Python<'_>, value: i64) -> PyResult<Held> {
    Held::of(unsafe { PyLong_FromLongLong(value) }).ok_or_else(|| PyErr::fetch(py))
}

#[pymethods]
impl LineReader {
    /// Of the reader in Python, its state, the classes of frames, requests and connections, the functions `kind_of` and
    /// `acks_of`, and how many requests, of how many bytes, a connection may have without an answer.
    #[new]
    fn new(
        reader: Bound<'_, PyAny>,
        state: Py<PyAny>,
        classes: (Bound<'_, PyType>, Bound<'_, PyType>, Bound<'_, PyType>),
        functions: (Py<PyAny>, Py<PyAny>),
        bounds: (i64, i64),
    ) -> PyResult<LineReader> {
        let frame = [
            "index",
            "ts",
            "connection",
            "is_request",
            "data",
            "asked",
            "correlation_id",
            "error",
            "offset",
            "passed_over",
        ];
        Ok(LineReader {
            text: PyBytes::new(reader.py(), b"").unbind(),
            connections: state.getattr(reader.py(), pyo3::intern!(reader.py(), "connections"))?,
            reader: reader.unbind(),
            state,
            kind_of: functions.0,
            acks_of: functions.1,
            frame: Making::new(&classes.0, frame)?,
            asked: Making::new(&classes.1, ["frame", "ts", "correlation_id", "data", "kind", "message"])?,
            read_asked: Read::new(&classes.1, ["frame", "data"])?,
            connection: Read::new(&classes.2, ["asked", "asked_bytes"])?,
            bounds,
            kinds: HashMap::new(),
            kinds_bytes: 0,
            data: Vec::new(),
            head: Vec::new(),
            at: 0,
            begins: 0,
            index: 0,
        })
    }

    /// An iterator over the frames of lines; the first of them begins at `begins`.
    fn frames<'py>(mut slf: PyRefMut<'py, Self>, text: Py<PyBytes>, begins: i64) -> PyResult<PyRefMut<'py, Self>> {
        (slf.text, slf.at, slf.begins) = (text, 0, begins);
        slf.index = slf.next_index(slf.py())?;
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
            self.note_index(py)?;
            let found = self.reader.bind(py).call_method1("frame_in", (PyBytes::new(py, line), begins))?;
            self.index = self.next_index(py)?;
            if !found.is_none() {
                return Ok(Some(found));
            }
        }
        self.note_index(py)?;
        Ok(None)
    }
}

impl LineReader {
    /// The index of the next frame, as the state has it.
    fn next_index(&self, py: Python<'_>) -> PyResult<i64> {
        self.state.getattr(py, pyo3::intern!(py, "frames"))?.extract(py)
    }

    fn note_index(&self, py: Python<'_>) -> PyResult<()> {
        self.state.setattr(py, pyo3::intern!(py, "frames"), self.index)
    }

    /// The frame of a line; `None`: it is not plain, and nothing was noted.
    fn plain(&mut self, py: Python<'_>, line: &Line<'_>, begins: i64) -> PyResult<Option<Held>> {
        if base64(line.encoded, &mut self.data).is_none()
            || line.size.is_some_and(|size| size != self.data.len() as i64)
        {
            return Ok(None);
        }
        let least = if line.is_request { MIN_REQUEST_BYTES } else { MIN_RESPONSE_BYTES };
        let Some(id) = self.data.get(least - 4..least) else { return Ok(None) };
        let correlation_id = i64::from(i32::from_be_bytes([id[0], id[1], id[2], id[3]]));
        let number_of_it = number(py, line.connection)?;
        let Some(connection) = item(py, self.connections.as_ptr(), &number_of_it)? else { return Ok(None) };
        let [waiting, waiting_bytes] = self.connection.values(py, connection.get())?;
        let waiting_bytes = int(py, &waiting_bytes)?;
        let correlation = number(py, correlation_id)?;
        let asked = item(py, waiting.get(), &correlation)?;
        let index = number(py, self.index)?;
        // SAFETY: all objects live, and functions of Python's say whether they failed.
        unsafe {
            let count = PyDict_Size(waiting.get()) as i64;
            let data = || {
                let made = PyBytes_FromStringAndSize(self.data.as_ptr().cast(), self.data.len() as Py_ssize_t);
                Held::of(made).ok_or_else(|| PyErr::fetch(py))
            };
            let (asked, data, left) = if line.is_request {
                let left = waiting_bytes + self.data.len() as i64;
                if asked.is_some() || count + 1 > self.bounds.0 || left > self.bounds.1 {
                    return Ok(None);
                }
                let data = data()?;
                head_of(&self.data, &mut self.head);
                if !self.kinds.contains_key(&self.head) {
                    self.meet(py)?;
                }
                let Some(kind) = self.kinds.get(&self.head) else { return Ok(None) };
                let kind_object = Held::new(kind.object.as_ptr());
                let wants_answer = !kind.is_produce || {
                    let object = kind.object.bind(py);
                    let bytes = Bound::from_borrowed_ptr(py, data.get());
                    let version = object.getattr("api_version")?;
                    let acks = self.acks_of.bind(py).call1((bytes, version, object.getattr("header_end")?))?;
                    acks.extract::<Option<i64>>()? != Some(0)
                };
                let values = [
                    Held::new(index.get()),
                    number(py, line.ts)?,
                    Held::new(correlation.get()),
                    Held::new(data.get()),
                    kind_object,
                    Held::none(),
                ];
                let asked = self.asked.make(py, values)?;
                if wants_answer && PyDict_SetItem(waiting.get(), correlation.get(), asked.get()) < 0 {
                    return Err(PyErr::fetch(py));
                }
                (asked, data, if wants_answer { left } else { waiting_bytes })
            } else {
                let Some(asked) = asked else { return Ok(None) };
                let [asked_frame, asked_data] = self.read_asked.values(py, asked.get())?;
                if count > 1 && !is_first(py, &waiting, &asked, int(py, &asked_frame)?, &self.read_asked)? {
                    return Ok(None);
                }
                let left = if count == 1 { 0 } else { waiting_bytes - data_of(&asked_data)?.len() as i64 };
                let data = data()?;
                if PyDict_DelItem(waiting.get(), correlation.get()) < 0 {
                    return Err(PyErr::fetch(py));
                }
                (asked, data, left)
            };
            if left != waiting_bytes {
                self.connection.store(py, connection.get(), 1, number(py, left)?)?;
            }
            self.index += 1;
            let none_passed_over = Held::of(PyTuple_New(0)).ok_or_else(|| PyErr::fetch(py))?;
            let values = [
                Held::new(index.get()),
                number(py, line.ts)?,
                connection,
                Held::new(if line.is_request { Py_True() } else { Py_False() }),
                data,
                asked,
                correlation,
                Held::none(),
                number(py, begins)?,
                none_passed_over,
            ];
            self.frame.make(py, values).map(Some)
        }
    }

    fn meet(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.kind_of.bind(py).call1((PyBytes::new(py, &self.head),))?;
        self.kinds_bytes += self.head.len();
        if self.kinds.len() >= MAX_REMEMBERED || self.kinds_bytes > MAX_REMEMBERED_BYTES {
            self.kinds.clear();
            self.kinds_bytes = self.head.len();
        }
        let is_produce = self.head.starts_with(&[0, 0]);
        self.kinds.insert(self.head.clone(), Kind { object: object.unbind(), is_produce });
        Ok(())
    }
}

/// A dictionary's value.
fn item(py: Python<'_>, dict: Obj, key: &Held) -> PyResult<Option<Held>> {
    // SAFETY: both objects live; what is found is borrowed from the dictionary.
    unsafe {
        if PyDict_Check(dict) == 0 {
            return Err(PyTypeError::new_err("expected a dictionary"));
        }
        let found = PyDict_GetItemWithError(dict, key.get());
        match PyErr::take(py) {
            Some(error) => Err(error),
            None if found.is_null() => Ok(None),
            None => Ok(Some(Held::new(found))),
        }
    }
}

/// True if a request waits longest, and all others were asked after it.
fn is_first(py: Python<'_>, waiting: &Held, asked: &Held, frame: i64, read: &Read<2>) -> PyResult<bool> {
    let (mut at, mut key, mut value): (Py_ssize_t, Obj, Obj) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: nothing changes the dictionary meanwhile.
    unsafe {
        if PyDict_Next(waiting.get(), &mut at, &mut key, &mut value) == 0 || value != asked.get() {
            return Ok(false);
        }
        if PyDict_Next(waiting.get(), &mut at, &mut key, &mut value) == 0 {
            return Ok(true);
        }
        let [next, _] = read.values(py, value)?;
        Ok(int(py, &next)? > frame)
    }
}
