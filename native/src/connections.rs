//! Segments of TCP to frames, as `kafka_rack/wire_capture/connections.py` reads them.
//!
//! A plain segment brings the next bytes of a connection that is known to be Kafka's and misses nothing. All else goes to
//! Python, before anything of it was noted; what both know is in Python's objects.
use crate::frames::{int, Read};
use crate::joining::{number, Classes, Joiner, NO_CLIENT_ID};
use crate::object::{append, Held};
use crate::packets::{Ends, Format, Found, Links, Segment, FIN_SYN_RST};
use foldhash::{HashMap, HashMapExt as _};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{
    PyByteArray_AsString, PyByteArray_Check, PyByteArray_Size, PyDict_Size, PySequence_DelSlice, PySequence_Size,
    Py_True,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

const MAX_REMEMBERED: usize = 20_000;
const LENGTH_BYTES: usize = 4;
const BOTH: i64 = 3;

/// One direction of a connection, with the objects that Python has for it and for the other one.
struct Flow {
    found: Py<PyAny>,
    /// `None`: the connection is not Kafka's.
    halves: Option<Halves>,
}

struct Halves {
    connection: Py<PyAny>,
    half: Py<PyAny>,
    direction: Py<PyAny>,
    other_half: Py<PyAny>,
    other_direction: Py<PyAny>,
    is_request: bool,
    /// How often what is known of the cluster had changed when it named no broker for this connection.
    unnamed_at: Option<i64>,
}

/// The packet whose frames are being read.
struct Open {
    flow: usize,
    ts: i64,
    offset: i64,
    /// The bytes that are left: in the text, or in the buffer with bytes of packets before.
    at: usize,
    end: usize,
    buffered: bool,
    /// Where in the buffer the packet's bytes began.
    begins: usize,
}

/// Reads packets of one capture.
#[pyclass]
pub struct PacketReader {
    traffic: Py<PyAny>,
    joiner: Joiner,
    links: Links,
    tcp: Read<4>,
    half: Read<4>,
    direction: Read<3>,
    connection: Read<1>,
    linger_bytes: i64,
    flows: Vec<Flow>,
    known: HashMap<Ends, usize>,
    format: Format,
    file_format: Py<PyAny>,
    text: Py<PyBytes>,
    at: usize,
    /// The offset of the text in the capture.
    begins: i64,
    /// Behind this offset a closed connection is to be dropped.
    closed_until: i64,
    open: Option<Open>,
    rest: Option<Py<PyAny>>,
    passed: Option<i64>,
}

#[pymethods]
impl PacketReader {
    /// Of the connections in Python, what `Joiner::new` takes, the classes of connections, their halves and directions,
    /// the known links and how long closed connections stay.
    #[new]
    fn new(
        traffic: Bound<'_, PyAny>,
        classes: Classes<'_>,
        functions: (Py<PyAny>, Py<PyAny>),
        bounds: (i64, i64),
        tcp: (Bound<'_, PyType>, Bound<'_, PyType>, Bound<'_, PyType>),
        links: Vec<(u32, Option<usize>, usize)>,
        linger_bytes: i64,
    ) -> PyResult<PacketReader> {
        let py = traffic.py();
        let state = traffic.getattr(pyo3::intern!(py, "state"))?.unbind();
        Ok(PacketReader {
            joiner: Joiner::new(state, &classes, functions, bounds)?,
            links: Links::new(links),
            tcp: Read::new(&tcp.0, ["client_id", "held", "finished", "dropped"])?,
            half: Read::new(&tcp.1, ["buffer", "synced", "on_trial", "skipped"])?,
            direction: Read::new(&tcp.2, ["following", "place", "waiting"])?,
            connection: Read::new(&classes.2, ["broker"])?,
            linger_bytes,
            flows: Vec::new(),
            known: HashMap::new(),
            format: Format::default(),
            file_format: py.None(),
            text: PyBytes::new(py, b"").unbind(),
            at: 0,
            begins: 0,
            closed_until: i64::MAX,
            open: None,
            rest: None,
            passed: None,
            traffic: traffic.unbind(),
        })
    }

    /// An iterator over the frames of plain packets: those of `text` from `at` on, up to the first that is not plain.
    /// `begins` is the offset of `text`.
    fn frames<'py>(
        mut slf: PyRefMut<'py, Self>,
        text: Py<PyBytes>,
        at: usize,
        begins: i64,
        file_format: Bound<'py, PyAny>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let py = slf.py();
        let this = &mut *slf;
        let is_plain = this.format.read(&file_format)?;
        (this.at, this.begins, this.file_format) = (at, begins, file_format.unbind());
        this.text = if is_plain { text } else { PyBytes::new(py, b"").unbind() };
        (this.open, this.rest, this.passed) = (None, None, None);
        let closed = this.traffic.bind(py).getattr(pyo3::intern!(py, "closed"))?.cast_into::<PyDict>()?;
        let first = closed.iter().next().map(|(_, offset)| offset.extract::<i64>()).transpose()?;
        this.closed_until = first.map_or(i64::MAX, |offset| offset.saturating_add(this.linger_bytes));
        this.joiner.begin(py)?;
        Ok(slf)
    }

    /// Where the first packet begins that is Python's.
    #[getter]
    fn at(&self) -> usize {
        self.at
    }

    /// The offset of the last segment that was taken, if any was.
    #[getter]
    fn passed(&self) -> Option<i64> {
        self.passed
    }

    /// What `bytes_read` of the connections takes, to go on within a packet; `None` if the last one is done with.
    #[getter]
    fn rest(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.rest.as_ref().map(|rest| rest.clone_ref(py))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let text = self.text.clone_ref(py);
        let text = text.as_bytes(py);
        loop {
            if let Some(frame) = self.next_frame(py, text)? {
                // SAFETY: the frame is a new reference.
                return Ok(Some(unsafe { Bound::from_owned_ptr(py, frame.into_ptr()) }));
            }
            if self.rest.is_some() {
                break;
            }
            let segment = match self.format.segment(&self.links, text, self.at) {
                Found::Odd => break,
                Found::Nothing(next) => {
                    self.format.take();
                    self.at = next;
                    continue;
                }
                Found::Segment(segment) => segment,
            };
            if !self.take(py, text, &segment)? {
                break;
            }
            self.format.take();
            self.passed = Some(self.begins + self.at as i64);
            self.at = segment.next;
        }
        self.joiner.note(py)?;
        self.format.note(self.file_format.bind(py))?;
        Ok(None)
    }
}

fn is_true(value: &Held) -> bool {
    value.get() == unsafe { Py_True() }
}

/// The bytes of a bytearray.
fn bytes_of(buffer: &Held) -> PyResult<&[u8]> {
    // SAFETY: nothing changes the bytes while they are looked at.
    unsafe {
        if PyByteArray_Check(buffer.get()) == 0 {
            return Err(PyTypeError::new_err("a buffer is a bytearray"));
        }
        let size = PyByteArray_Size(buffer.get()) as usize;
        Ok(std::slice::from_raw_parts(PyByteArray_AsString(buffer.get()).cast(), size))
    }
}

impl PacketReader {
    /// Takes the bytes of a segment. False: it is not plain, and nothing was noted.
    fn take(&mut self, py: Python<'_>, text: &[u8], segment: &Segment) -> PyResult<bool> {
        let offset = self.begins + self.at as i64;
        if segment.flags & FIN_SYN_RST != 0 || offset > self.closed_until {
            return Ok(false);
        }
        let Some(flow_number) = self.flow(py, &segment.ends)? else { return Ok(false) };
        let flow = &mut self.flows[flow_number];
        let [_, held, finished, _] = self.tcp.values(py, flow.found.as_ptr())?;
        if int(py, &finished)? == BOTH {
            return Ok(false);
        }
        let Some(halves) = &mut flow.halves else { return Ok(true) };
        let [buffer, synced, on_trial, skipped] = self.half.values(py, halves.half.as_ptr())?;
        let [following, place, waiting] = self.direction.values(py, halves.direction.as_ptr())?;
        let [other_buffer, other_synced, ..] = self.half.values(py, halves.other_half.as_ptr())?;
        let [.., other_waiting] = self.direction.values(py, halves.other_direction.as_ptr())?;
        // SAFETY: all objects live; one of another class than these functions want counts as not empty.
        let is_empty = unsafe {
            PySequence_Size(held.get()) == 0 && PyDict_Size(waiting.get()) == 0 && PyDict_Size(other_waiting.get()) == 0
        };
        let next = i64::from(segment.sequence);
        let is_next =
            is_true(&synced) && !is_true(&on_trial) && int(py, &skipped)? == 0 && int(py, &following)? == next;
        let others_wait = halves.is_request && !is_true(&other_synced) && !bytes_of(&other_buffer)?.is_empty();
        if !is_empty || !is_next || others_wait {
            return Ok(false);
        }
        let size = segment.end - segment.start;
        let (following, place) = ((next + size as i64) & 0xFFFF_FFFF, int(py, &place)? + size as i64);
        self.direction.store(py, halves.direction.as_ptr(), 0, number(py, following)?)?;
        self.direction.store(py, halves.direction.as_ptr(), 1, number(py, place)?)?;
        let [broker] = self.connection.values(py, halves.connection.as_ptr())?;
        if int(py, &broker)? == i64::MIN {
            let traffic = self.traffic.bind(py);
            let changes = traffic.call_method0(pyo3::intern!(py, "changes"))?.extract()?;
            if halves.unnamed_at != Some(changes) {
                traffic.call_method1(pyo3::intern!(py, "name_broker"), (&halves.connection,))?;
                halves.unnamed_at = Some(changes);
            }
        }
        let begins = bytes_of(&buffer)?.len();
        let buffered = begins > 0;
        if buffered {
            append(py, buffer.get(), &text[segment.start..segment.end])?;
        }
        let (at, end) = if buffered { (0, begins + size) } else { (segment.start, segment.end) };
        self.open = Some(Open { flow: flow_number, ts: segment.ts, offset, at, end, buffered, begins });
        Ok(true)
    }

    /// The number of a flow, if Python knows what its connection is.
    fn flow(&mut self, py: Python<'_>, ends: &Ends) -> PyResult<Option<usize>> {
        type Found<'py> = (Bound<'py, PyAny>, Option<bool>);
        let seen = self.known.get(ends).copied();
        if let Some(number) = seen {
            let [.., dropped] = self.tcp.values(py, self.flows[number].found.as_ptr())?;
            if !is_true(&dropped) {
                return Ok(seen);
            }
        }
        let width = if ends[0] == 4 { 4 } else { 16 };
        let address = |at: usize| PyBytes::new(py, &ends[at..at + width]);
        let port = |at: usize| u16::from_be_bytes([ends[at], ends[at + 1]]);
        let asked = (address(1), port(33), address(17), port(35));
        let found = self.traffic.bind(py).call_method1(pyo3::intern!(py, "followed"), asked)?;
        if found.is_none() {
            return Ok(None);
        }
        let (found, from_client): Found<'_> = found.extract()?;
        let halves = match from_client {
            None => None,
            Some(is_request) => {
                let half = |name: &str| found.getattr(name).map(Bound::unbind);
                let direction = |half: &Py<PyAny>| half.getattr(py, pyo3::intern!(py, "direction"));
                let (half, other_half) = match is_request {
                    true => (half("requests")?, half("responses")?),
                    false => (half("responses")?, half("requests")?),
                };
                Some(Halves {
                    connection: found.getattr(pyo3::intern!(py, "connection"))?.unbind(),
                    direction: direction(&half)?,
                    other_direction: direction(&other_half)?,
                    half,
                    other_half,
                    is_request,
                    unnamed_at: None,
                })
            }
        };
        let flow = Flow { found: found.unbind(), halves };
        if let Some(number) = seen {
            self.flows[number] = flow;
            return Ok(seen);
        }
        if self.flows.len() >= MAX_REMEMBERED {
            self.flows.clear();
            self.known.clear();
        }
        self.flows.push(flow);
        self.known.insert(*ends, self.flows.len() - 1);
        Ok(Some(self.flows.len() - 1))
    }

    /// The next frame of the packet that is open. `None`: it has no more, or the next one is not plain.
    fn next_frame(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<Option<Held>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let flow = &self.flows[open.flow];
        let Some(halves) = &flow.halves else { return Ok(None) };
        let [buffer, ..] = self.half.values(py, halves.half.as_ptr())?;
        let bytes = if open.buffered { &bytes_of(&buffer)?[open.at..] } else { &text[open.at..open.end] };
        match frame_at(bytes, halves.is_request) {
            Frame::Whole(data) => {
                // SAFETY: the connection lives.
                let connection = unsafe { Held::new(halves.connection.as_ptr()) };
                let times = (open.ts, open.offset);
                if let Some(joined) = self.joiner.join(py, connection, halves.is_request, data, times)? {
                    open.at += LENGTH_BYTES + data.len();
                    if let Some(client_id) = joined.client_id {
                        let [before, ..] = self.tcp.values(py, flow.found.as_ptr())?;
                        if before.get() != client_id.get() {
                            self.tcp.store(py, flow.found.as_ptr(), 0, client_id)?;
                        }
                    }
                    return Ok(Some(joined.frame));
                }
            }
            Frame::Partial => {
                put_back(py, open, &buffer, bytes)?;
                self.open = None;
                return Ok(None);
            }
            Frame::Odd => {}
        }
        put_back(py, open, &buffer, bytes)?;
        let rest = (&flow.found, &halves.half, open.ts, open.offset, open.begins);
        self.rest = Some(rest.into_pyobject(py)?.into_any().unbind());
        self.open = None;
        Ok(None)
    }
}

enum Frame<'a> {
    Whole(&'a [u8]),
    Partial,
    Odd,
}

/// The frame that begins here, length first.
fn frame_at(bytes: &[u8], is_request: bool) -> Frame<'_> {
    const MAX_FRAME_BYTES: i32 = 128 << 20;
    let Some(length) = bytes.get(..LENGTH_BYTES) else { return Frame::Partial };
    let size = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
    let least = if is_request { 8 } else { 4 };
    let has_header = size >= 10 || (size == 8 && bytes[LENGTH_BYTES..].starts_with(NO_CLIENT_ID));
    if !(least..=MAX_FRAME_BYTES).contains(&size) || (is_request && bytes.len() >= 14 && !has_header) {
        return Frame::Odd;
    }
    bytes.get(LENGTH_BYTES..LENGTH_BYTES + size as usize).map_or(Frame::Partial, Frame::Whole)
}

/// Leaves in the buffer the bytes that are left, which are no whole frame.
fn put_back(py: Python<'_>, open: &Open, buffer: &Held, bytes: &[u8]) -> PyResult<()> {
    if !open.buffered {
        return append(py, buffer.get(), bytes);
    }
    // SAFETY: the object lives.
    if open.at > 0 && unsafe { PySequence_DelSlice(buffer.get(), 0, open.at as isize) } < 0 {
        return Err(PyErr::fetch(py));
    }
    Ok(())
}
