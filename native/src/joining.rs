//! Frames joined to the requests that they answer, as `kafka_rack/wire_capture/frames.py` joins them.
//!
//! A frame is plain if it leaves no other request of its connection unanswered; anything else is refused before anything
//! of it was noted.
use crate::class::{Class, Unfinished};
use crate::frames::{data_of, int, Read};
use crate::object::{Held, Obj};
use foldhash::{HashMap, HashMapExt as _};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{
    PyBytes_FromStringAndSize, PyDict_Check, PyDict_DelItem, PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem,
    PyDict_Size, PyLong_FromLongLong, PyTuple_New, Py_False, Py_True, Py_ssize_t,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

/// Bounds of `frames.py`.
const MIN_REQUEST_BYTES: usize = 8;
const MIN_RESPONSE_BYTES: usize = 4;
pub const NO_CLIENT_ID: &[u8] = b"\0\x07\0\0";
const MAX_REMEMBERED: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 1 << 20;

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
    client_id: Py<PyAny>,
    /// Requests may want no answer: Python looks.
    is_produce: bool,
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

pub fn number(py: Python<'_>, value: i64) -> PyResult<Held> {
    Held::of(unsafe { PyLong_FromLongLong(value) }).ok_or_else(|| PyErr::fetch(py))
}

/// The classes of frames, requests and connections.
pub type Classes<'py> = (Bound<'py, PyType>, Bound<'py, PyType>, Bound<'py, PyType>);

/// A frame, and of a request the client id.
pub struct Joined {
    pub frame: Held,
    pub client_id: Option<Held>,
}

/// Makes the frames of one capture.
pub struct Joiner {
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
    head: Vec<u8>,
    /// Of the state, while Python reads nothing.
    index: i64,
}

impl Joiner {
    /// Of the state of a reading, the classes, the functions `kind_of` and `acks_of`, and how many requests, of how many
    /// bytes, a connection may have without an answer.
    pub fn new(
        state: Py<PyAny>,
        classes: &Classes<'_>,
        functions: (Py<PyAny>, Py<PyAny>),
        bounds: (i64, i64),
    ) -> PyResult<Joiner> {
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
        Ok(Joiner {
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
            head: Vec::new(),
            index: 0,
        })
    }

    /// Takes the index of the next frame over from the state.
    pub fn begin(&mut self, py: Python<'_>) -> PyResult<()> {
        self.index = self.state.getattr(py, pyo3::intern!(py, "frames"))?.extract(py)?;
        Ok(())
    }

    /// Gives the index of the next frame back to the state, before Python reads any.
    pub fn note(&self, py: Python<'_>) -> PyResult<()> {
        self.state.setattr(py, pyo3::intern!(py, "frames"), self.index)
    }

    /// The next frame of a connection. `None`: it is not plain, and nothing was noted.
    pub fn join(
        &mut self,
        py: Python<'_>,
        connection: Held,
        is_request: bool,
        bytes: &[u8],
        (ts, offset): (i64, i64),
    ) -> PyResult<Option<Joined>> {
        let least = if is_request { MIN_REQUEST_BYTES } else { MIN_RESPONSE_BYTES };
        let Some(id) = bytes.get(least - 4..least) else { return Ok(None) };
        let correlation_id = i64::from(i32::from_be_bytes([id[0], id[1], id[2], id[3]]));
        let [waiting, waiting_bytes] = self.connection.values(py, connection.get())?;
        let waiting_bytes = int(py, &waiting_bytes)?;
        let correlation = number(py, correlation_id)?;
        let asked = item(py, waiting.get(), &correlation)?;
        let index = number(py, self.index)?;
        // SAFETY: all objects live, and functions of Python's say whether they failed.
        unsafe {
            let count = PyDict_Size(waiting.get()) as i64;
            let data = || {
                let made = PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as Py_ssize_t);
                Held::of(made).ok_or_else(|| PyErr::fetch(py))
            };
            let (asked, data, left, client_id) = if is_request {
                let left = waiting_bytes + bytes.len() as i64;
                if asked.is_some() || count + 1 > self.bounds.0 || left > self.bounds.1 {
                    return Ok(None);
                }
                let data = data()?;
                head_of(bytes, &mut self.head);
                if !self.kinds.contains_key(&self.head) {
                    self.meet(py)?;
                }
                let Some(kind) = self.kinds.get(&self.head) else { return Ok(None) };
                let wants_answer = !kind.is_produce || {
                    let object = kind.object.bind(py);
                    let bytes = Bound::from_borrowed_ptr(py, data.get());
                    let version = object.getattr("api_version")?;
                    let acks = self.acks_of.bind(py).call1((bytes, version, object.getattr("header_end")?))?;
                    acks.extract::<Option<i64>>()? != Some(0)
                };
                let values = [
                    Held::new(index.get()),
                    number(py, ts)?,
                    Held::new(correlation.get()),
                    Held::new(data.get()),
                    Held::new(kind.object.as_ptr()),
                    Held::none(),
                ];
                let client_id = Held::new(kind.client_id.as_ptr());
                let asked = self.asked.make(py, values)?;
                if wants_answer && PyDict_SetItem(waiting.get(), correlation.get(), asked.get()) < 0 {
                    return Err(PyErr::fetch(py));
                }
                (asked, data, if wants_answer { left } else { waiting_bytes }, Some(client_id))
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
                (asked, data, left, None)
            };
            if left != waiting_bytes {
                self.connection.store(py, connection.get(), 1, number(py, left)?)?;
            }
            self.index += 1;
            let none_passed_over = Held::of(PyTuple_New(0)).ok_or_else(|| PyErr::fetch(py))?;
            let values = [
                Held::new(index.get()),
                number(py, ts)?,
                connection,
                Held::new(if is_request { Py_True() } else { Py_False() }),
                data,
                asked,
                correlation,
                Held::none(),
                number(py, offset)?,
                none_passed_over,
            ];
            Ok(Some(Joined { frame: self.frame.make(py, values)?, client_id }))
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
        let client_id = object.getattr(pyo3::intern!(py, "client_id"))?.unbind();
        self.kinds.insert(self.head.clone(), Kind { object: object.unbind(), client_id, is_produce });
        Ok(())
    }
}

/// A dictionary's value.
pub fn item(py: Python<'_>, dict: Obj, key: &Held) -> PyResult<Option<Held>> {
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
