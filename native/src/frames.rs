//! Frames to rows: bodies are walked, batches counted, and the numbers of rows written where Python keeps them.
//!
//! Which tables there are, what their rows are made of and which messages give which rows is declared in Python
//! (`kafka_rack/wire_tables/native_rows.py`). Whatever is not plain here (a body that cannot be read, a header with
//! tagged fields, damaged records) is left to Python, before anything of it was noted.
use crate::batches::{batches, Batch, Compressed, Counts};
use crate::class::{probe, Class};
use crate::object::{append, as_bytes, contents, Held, Obj};
use crate::walk::{Found, Value, Walk};
use foldhash::{HashMap, HashMapExt as _};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::{PyBytes_Check, PyLong_AsLongLong, PyTuple_Size, Py_None, Py_True};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString, PyTuple, PyType};

/// No value (`NONE` of `rows.py`).
const NONE: i64 = i64::MIN;
const LENGTH_BYTES: usize = 4;
/// From how many bytes of records on other threads may run while they are counted.
const LARGE: usize = 1 << 18;
/// Of what is remembered of one sort, before all of it is forgotten.
const MAX_REMEMBERED: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 8 << 20;
/// Of a fact about the cluster, as Python keeps it.
const FACT_BYTES: usize = 200;

macro_rules! quantities {
    ($($name:ident $text:literal),*) => {
        /// What a row may be made of; a declaration names them.
        #[derive(Clone, Copy)]
        enum Quantity { $($name),* }
        const QUANTITIES: &[&str] = &[$($text),*];
        const HOW_MANY: usize = QUANTITIES.len();
    };
}
quantities!(
    Place "place", Way "way", Kind "kind", Ts "ts", CorrelationId "correlation_id", FrameBytes "frame_bytes",
    Error "error", Frame "frame", Offset "offset", Latency "latency_us", RequestBytes "request_bytes",
    ResponseBytes "response_bytes", ResponseFrame "response_frame", Form "form", Part "part", Records "records",
    Bytes "bytes", KeyBytes "key_bytes", ValueBytes "value_bytes", Headers "headers", BaseOffset "base_offset",
    ProducerId "producer_id", Client "client", Serving "serving", RecordBytes "record_bytes",
    Redirected "redirected", Preferred "preferred_read_replica", ErrorCode "error_code", First "first", Keyed "keyed"
);

/// The values of one row.
struct Row([i64; HOW_MANY]);

impl Row {
    fn set<const COUNT: usize>(&mut self, values: [(Quantity, i64); COUNT]) {
        for (quantity, value) in values {
            self.0[quantity as usize] = value;
        }
    }
}

/// A column of a row: a quantity, or one of the numbers that Python makes of an item.
#[derive(Clone, Copy)]
enum Column {
    Of(usize),
    Own(usize),
}

/// Which row is meant: of a frame, a call, a batch, a partition, or an item.
#[derive(Clone, Copy)]
enum Event {
    Frame,
    Call,
    Batch,
    Part,
    Item,
}
const EVENTS: [(&str, Event); 5] = [
    ("frame", Event::Frame),
    ("call", Event::Call),
    ("batch", Event::Batch),
    ("part", Event::Part),
    ("item", Event::Item),
];

/// Rows of one table and API.
struct Rows {
    table: String,
    /// The bytes that Python keeps, asked for when there is something for them.
    held: Option<Py<PyByteArray>>,
    columns: Vec<Column>,
    fresh: Vec<i64>,
}

impl Rows {
    /// Of the table's name and columns; only an item's row has others than quantities.
    fn read(table: &str, names: &[String], event: Event) -> PyResult<Rows> {
        let mut own = 0;
        let mut columns = Vec::new();
        for name in names {
            columns.push(match QUANTITIES.iter().position(|one| one == name) {
                Some(quantity) => Column::Of(quantity),
                None if matches!(event, Event::Item) => Column::Own(own),
                None => return Err(PyValueError::new_err(format!("{table}: nothing gives {name}"))),
            });
            own += usize::from(matches!(columns.last(), Some(Column::Own(_))));
        }
        Ok(Rows { table: table.to_owned(), held: None, columns, fresh: Vec::new() })
    }

    /// How many columns are an item's own.
    fn own(&self) -> usize {
        self.columns.iter().filter(|column| matches!(column, Column::Own(_))).count()
    }

    #[inline(always)]
    fn add(&mut self, row: &Row, own: &[i64]) {
        self.fresh.extend(self.columns.iter().map(|column| match column {
            Column::Of(quantity) => row.0[*quantity],
            Column::Own(index) => own.get(*index).copied().unwrap_or(NONE),
        }));
    }

    /// Where Python keeps the rows: APIs follow each other there as they were first asked for.
    fn held(&mut self, kind: &Bound<'_, PyAny>, rows: &Py<PyAny>) -> PyResult<Obj> {
        if self.held.is_none() {
            let found = rows.bind(kind.py()).call1((kind, &self.table))?;
            self.held = Some(found.cast_into::<PyByteArray>()?.unbind());
        }
        Ok(self.held.as_ref().map_or(std::ptr::null_mut(), Py::as_ptr))
    }

    /// Moves what was added to where Python keeps it.
    fn flush(&mut self, kind: &Bound<'_, PyAny>, rows: &Py<PyAny>) -> PyResult<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        append(kind.py(), self.held(kind, rows)?, as_bytes(&self.fresh))?;
        self.fresh.clear();
        Ok(())
    }
}

/// The values of a frame's row and its call's that are the frame's own.
struct Own {
    ts: i64,
    index: i64,
    size: i64,
    offset: i64,
    correlation_id: i64,
    is_request: bool,
    asked_ts: i64,
    asked_frame: i64,
    asked_size: i64,
    asked_id: i64,
}

impl Own {
    /// The rows of a frame and, of a response, its call.
    fn add(&self, row: &mut Row, way: i64, error: i64, rows: &mut [Option<Rows>; 5]) {
        if let Some(rows) = &mut rows[Event::Frame as usize] {
            row.set([(Quantity::Way, way), (Quantity::Ts, self.ts), (Quantity::CorrelationId, self.correlation_id)]);
            row.set([(Quantity::FrameBytes, self.size), (Quantity::Error, error)]);
            row.set([(Quantity::Frame, self.index), (Quantity::Offset, self.offset)]);
            rows.add(row, &[]);
        }
        if let (Some(rows), false) = (&mut rows[Event::Call as usize], self.is_request) {
            row.set([(Quantity::Ts, self.asked_ts), (Quantity::CorrelationId, self.asked_id)]);
            row.set([(Quantity::Latency, self.ts - self.asked_ts), (Quantity::RequestBytes, self.asked_size)]);
            row.set([(Quantity::ResponseBytes, self.size), (Quantity::Frame, self.asked_frame)]);
            row.set([(Quantity::ResponseFrame, self.index)]);
            rows.add(row, &[]);
        }
    }
}

/// Where Python keeps the rows of a table, their width, the columns of place, time and frame, and the rows.
type TableRows = (Py<PyByteArray>, usize, [usize; 3], Vec<i64>);

/// Rows that Python has made of a frame, to be added for others with the same bytes.
struct Repeated {
    way: i64,
    error: i64,
    tables: Vec<TableRows>,
    /// What the frame reports of the cluster.
    facts: Py<PyAny>,
    /// What was known as the rows were made: the count of names, and of all changes.
    named: i64,
    changes: i64,
}

/// The slots of an array's items from and to these, and a function of their values.
type Level = (usize, usize, Py<PyAny>);

/// What rows a body gives, besides those of its frame and its call.
enum Makes {
    Nothing,
    Produced,
    ProduceAnswer,
    Fetched,
    /// Of each level the slots of its items, and a function that returns of them the columns of the row that are its own.
    Items(Vec<Level>),
}

/// How requests, or responses, of one kind are read.
struct Side {
    walk: Py<Walk>,
    /// There is a header with tagged fields.
    flexible: bool,
    /// What does not end with its frame is another message.
    otherwise: Option<Py<Walk>>,
    makes: Makes,
}

impl Side {
    /// Of `(walk, flexible, otherwise, makes, levels)`.
    fn read(found: &Bound<'_, PyAny>) -> PyResult<Option<Side>> {
        type Parts<'py> = (Bound<'py, Walk>, bool, Option<Bound<'py, Walk>>, String, Vec<Level>);
        if found.is_none() {
            return Ok(None);
        }
        let (walk, flexible, otherwise, makes, functions): Parts<'_> = found.extract()?;
        let (slots, counted) = walk.get().counts();
        let (makes, least) = match makes.as_str() {
            "" => (Makes::Nothing, (0, 0)),
            "fetch" => (Makes::Nothing, (3, 0)),
            "produce" => (Makes::Produced, (5, 1)),
            "produced" => (Makes::ProduceAnswer, (4, 1)),
            "fetched" => (Makes::Fetched, (6, 1)),
            "items" => (Makes::Items(functions), (1, counted)),
            other => return Err(PyValueError::new_err(format!("no rows of {other:?}"))),
        };
        let fits = |(start, end, _): &Level| start <= end && *end <= slots;
        let items_fit = match &makes {
            Makes::Items(levels) => levels.len() == counted && levels.iter().all(fits),
            _ => true,
        };
        if slots < least.0 || counted != least.1 || !items_fit {
            return Err(PyValueError::new_err("expected other fields and levels"));
        }
        if otherwise.as_ref().is_some_and(|other| other.get().counts() != (slots, counted)) {
            return Err(PyValueError::new_err("expected a walk to the same fields"));
        }
        Ok(Some(Side { walk: walk.unbind(), flexible, otherwise: otherwise.map(Bound::unbind), makes }))
    }

    /// Walks the body that begins at `start`: the walk that fits, and the bytes that are left after it.
    fn over(&self, data: &[u8], mut start: usize, found: &mut Found) -> Option<(&Py<Walk>, usize)> {
        if self.flexible {
            if *data.get(start)? != 0 {
                return None;
            }
            start += 1;
        }
        let end = self.walk.get().over(data, start, found);
        match (&self.otherwise, end) {
            (Some(other), end) if end != Some(data.len()) => {
                Some((other, data.len() - other.get().over(data, start, found)?))
            }
            (_, end) => Some((&self.walk, data.len() - end?)),
        }
    }
}

/// What is known of the requests of one API, version and client id.
struct Kind {
    /// The object whose address the kind is found by.
    object: Py<PyAny>,
    number: i64,
    header_end: usize,
    rows: [Option<Rows>; 5],
    request: Option<Side>,
    response: Option<Side>,
    ways: HashMap<(bool, bool, usize), i64>,
    /// Rows of frames that Python reads depend on their bytes, names and racks alone.
    repeats: bool,
}

/// A class of Python's whose instances are read.
pub struct Read<const COUNT: usize> {
    pub class: Class,
    pub places: [usize; COUNT],
}

impl<const COUNT: usize> Read<COUNT> {
    pub fn new(class: &Bound<'_, PyType>, names: [&str; COUNT]) -> PyResult<Self> {
        let found = Class::new(class, probe(class)?)?;
        let mut places = [0; COUNT];
        for (place, name) in places.iter_mut().zip(names) {
            *place = found.place(class.py(), name)?;
        }
        Ok(Read { class: found, places })
    }

    /// The values of an object's fields. Raises `TypeError`: it is of another class.
    pub fn values(&self, py: Python<'_>, object: Obj) -> PyResult<[Held; COUNT]> {
        // SAFETY: the places are the class's own.
        unsafe {
            if !self.class.is_class_of(object) {
                return Err(PyTypeError::new_err("an object of another class"));
            }
            let found = self.places.map(|place| self.class.value(object, place));
            if found.iter().any(Option::is_none) {
                return Err(PyErr::take(py).unwrap_or_else(|| PyTypeError::new_err("a field without a value")));
            }
            Ok(found.map(|value| value.unwrap_or_else(|| Held::none())))
        }
    }

    /// Gives an object another value of the field with this number. Raises `TypeError`: it is of another class.
    pub fn store(&self, py: Python<'_>, object: Obj, number: usize, value: Held) -> PyResult<()> {
        // SAFETY: the places are the class's own.
        unsafe {
            if !self.class.is_class_of(object) || !self.class.store(object, self.places[number], value) {
                return Err(PyErr::take(py).unwrap_or_else(|| PyTypeError::new_err("an object of another class")));
            }
        }
        Ok(())
    }
}

fn is_none(object: &Held) -> bool {
    object.get() == unsafe { Py_None() }
}

/// A whole number; NONE of `None`.
pub fn int(py: Python<'_>, object: &Held) -> PyResult<i64> {
    if is_none(object) {
        return Ok(NONE);
    }
    match unsafe { PyLong_AsLongLong(object.get()) } {
        -1 => PyErr::take(py).map_or(Ok(-1), Err),
        value => Ok(value),
    }
}

pub fn data_of(object: &Held) -> PyResult<&[u8]> {
    unsafe {
        if PyBytes_Check(object.get()) == 0 {
            return Err(PyTypeError::new_err("the data of a frame is bytes"));
        }
        Ok(contents(object))
    }
}

/// The number of a connection, good while it and the capture have the same values.
struct Place {
    seen: [Py<PyAny>; 6],
    number: i64,
}

/// Reads compressed records by Python, and remembers what they hold: a batch is fetched as it was produced.
struct Inflater {
    decompress: Py<PyAny>,
    /// By magic.
    known: [HashMap<Vec<u8>, Counts>; 3],
    known_bytes: usize,
}

impl Inflater {
    fn counts(&mut self, records: &Compressed<'_>) -> Option<Counts> {
        let Compressed { codec, magic, bytes, start, .. } = *records;
        if let Some(found) = self.known[usize::from(magic)].get(bytes) {
            return Some(*found);
        }
        let counts = Python::attach(|py| {
            let body = self.decompress.bind(py).call1((codec, PyBytes::new(py, &bytes[start..]), magic)).ok()?;
            records.counts(body.cast::<PyBytes>().ok()?.as_bytes())
        })?;
        self.known_bytes += bytes.len();
        if self.known_bytes > MAX_REMEMBERED_BYTES {
            self.known.iter_mut().for_each(HashMap::clear);
            self.known_bytes = bytes.len();
        }
        self.known[usize::from(magic)].insert(bytes.to_vec(), counts);
        Some(counts)
    }
}

/// The slots of an item with records; a Produce request has its acks after them, a response the item's error and, of a
/// fetch, the preferred replica.
const NAME: usize = 0;
const ID: usize = 1;
const INDEX: usize = 2;
const RECORDS: usize = 3;
const ACKS: usize = 4;
const FETCH_ERROR: usize = 4;
const PREFERRED: usize = 5;
const PRODUCE_ERROR: usize = 3;
const NO_ID: [u8; 16] = [0; 16];

/// A partition of a message with records; `batches` are those of all partitions from and to these indices.
struct Part {
    length: usize,
    batches: std::ops::Range<usize>,
    number: i64,
    serving: i64,
    error_code: i64,
    preferred: i64,
}

impl Part {
    /// A row for a message without any.
    fn none() -> Part {
        Part { length: 0, batches: 0..0, number: NONE, serving: NONE, error_code: NONE, preferred: NONE }
    }
}

/// What a message holds in records.
#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
    batches: Vec<Batch>,
}

impl Parts {
    /// Counts the records of all items. False: some are not plain.
    fn count(&mut self, py: Python<'_>, found: &Found, data: &[u8], inflater: &mut Inflater) -> bool {
        self.parts.clear();
        self.batches.clear();
        for item in found.of(0) {
            let (records, before) = (item[RECORDS].bytes(data), self.batches.len());
            let kept = &mut self.batches;
            let mut count = || batches(records, |compressed| inflater.counts(compressed), kept);
            if if records.len() < LARGE { count() } else { py.detach(count) }.is_none() {
                return false;
            }
            self.parts.push(Part { length: records.len(), batches: before..kept.len(), ..Part::none() });
        }
        true
    }

    /// The records of a partition, without markers of transactions, and whether any has a key.
    fn totals(&self, part: &Part) -> (i64, i64) {
        let held = &self.batches[part.batches.clone()];
        let records = held.iter().filter(|one| !one.is_control()).map(|one| one.counts.records).sum();
        (records, i64::from(held.iter().any(|one| one.counts.keyed)))
    }
}

/// Numbers that Python gives, remembered while they hold.
struct Numbers {
    plan: Py<PyAny>,
    rows: Py<PyAny>,
    way: Py<PyAny>,
    place: Py<PyAny>,
    form: Py<PyAny>,
    part: Py<PyAny>,
    client: Py<PyAny>,
    read: Py<PyAny>,
    note: Py<PyAny>,
    connection: Read<5>,
    state: Py<PyAny>,
    read_state: Read<2>,
    places: HashMap<usize, Place>,
    forms: HashMap<(bool, u8, u16, bool, bool), i64>,
    clients: HashMap<Vec<u8>, i64>,
    items: HashMap<Vec<u8>, Vec<i64>>,
    messages: HashMap<Vec<u8>, Vec<i64>>,
    message_bytes: usize,
    /// Rows of frames that Python has read, by what these hold.
    repeated: HashMap<Vec<u8>, Repeated>,
    repeated_bytes: usize,
    /// Partitions and who serves them, by their key, good while the cluster is known as it was.
    partitions: HashMap<Vec<u8>, (i64, i64)>,
    known: Option<(Py<PyAny>, i64)>,
    key: Vec<u8>,
}

/// How often what is known of the cluster has changed.
fn known_changes(known: &Bound<'_, PyAny>) -> PyResult<i64> {
    known.getattr(pyo3::intern!(known.py(), "changes"))?.extract()
}

impl Numbers {
    fn clear(&mut self) {
        self.places.clear();
        self.forms.clear();
        self.clients.clear();
        self.items.clear();
        self.messages.clear();
        self.message_bytes = 0;
        self.repeated.clear();
        self.repeated_bytes = 0;
        self.partitions.clear();
    }

    /// Forgets who serves partitions, and followers' racks, if the cluster may be known in another way than before.
    fn look_at_known(&mut self, py: Python<'_>) -> PyResult<()> {
        let [_, known] = self.read_state.values(py, self.state.as_ptr())?;
        // SAFETY: the object lives.
        let known = unsafe { Bound::from_owned_ptr(py, known.into_ptr()) };
        let changes: Option<i64> = match known.getattr_opt(pyo3::intern!(py, "changes"))? {
            Some(changes) => Some(changes.extract()?),
            None => None,
        };
        let is_same = |(before, count): &(Py<PyAny>, i64)| before.is(&known) && Some(*count) == changes;
        if !self.known.as_ref().is_some_and(is_same) {
            self.partitions.clear();
            if let Some((before, _)) = &self.known {
                self.clients.clear();
                if !before.is(&known) {
                    self.repeated.clear();
                }
            }
            self.known = changes.map(|count| (known.unbind(), count));
        }
        Ok(())
    }

    /// Has Python read a frame, and remembers its rows.
    fn first(&mut self, py: Python<'_>, frame: &Bound<'_, PyAny>, asked: &Held, key: Vec<u8>) -> PyResult<bool> {
        type Table<'py> = (Bound<'py, PyByteArray>, usize, usize, [usize; 3]);
        // SAFETY: the object lives.
        let asked = unsafe { Bound::from_borrowed_ptr(py, asked.get()) };
        let (way, error, tables, facts, count): (i64, i64, Vec<Table<'_>>, Py<PyAny>, usize) =
            self.read.bind(py).call1((frame, asked))?.extract()?;
        let Some((known, _)) = &self.known else { return Ok(true) };
        let known = known.bind(py);
        let mut size = key.len() + count * FACT_BYTES;
        let mut kept = Vec::new();
        for (held, start, width, columns) in tables {
            // SAFETY: nothing changes the bytes meanwhile.
            let added = unsafe { held.as_bytes() }.get(start..).unwrap_or(&[]);
            let rows: Vec<i64> =
                added.chunks_exact(8).map(|eight| eight.try_into().map_or(NONE, i64::from_ne_bytes)).collect();
            if width == 0 || rows.len() % width != 0 || columns.iter().any(|column| *column >= width) {
                return Err(PyValueError::new_err("expected whole rows"));
            }
            size += added.len();
            kept.push((held.unbind(), width, columns, rows));
        }
        if size > MAX_REMEMBERED_BYTES / 8 {
            return Ok(true);
        }
        self.repeated_bytes += size;
        if self.repeated_bytes > MAX_REMEMBERED_BYTES || self.repeated.len() >= MAX_REMEMBERED {
            self.repeated.clear();
            self.repeated_bytes = size;
        }
        let named = known.getattr(pyo3::intern!(py, "named"))?.extract()?;
        self.repeated.insert(key, Repeated { way, error, tables: kept, facts, named, changes: known_changes(known)? });
        Ok(true)
    }

    /// Of a partition, and of who serves it.
    fn part(&mut self, py: Python<'_>, item: &[Value], data: &[u8]) -> PyResult<(i64, i64)> {
        key_of(&mut self.key, item, data);
        if let Some(found) = self.partitions.get(&self.key) {
            return Ok(*found);
        }
        let (name, id) = (PyString::from_bytes(py, item[NAME].bytes(data))?, PyBytes::new(py, &id_of(&item[ID])));
        let found = self.part.bind(py).call1((name, id, item[INDEX].int()))?.extract()?;
        if self.partitions.len() >= MAX_REMEMBERED {
            self.partitions.clear();
        }
        if self.known.is_some() {
            self.partitions.insert(self.key.clone(), found);
        }
        Ok(found)
    }

    /// Of a connection.
    fn place(&mut self, py: Python<'_>, connection: &Held) -> PyResult<i64> {
        let values = self.connection.values(py, connection.get())?;
        let [capture, _] = self.read_state.values(py, self.state.as_ptr())?;
        let address = connection.get() as usize;
        if let Some(known) = self.places.get(&address) {
            let same = known.seen.iter().zip(&values).all(|(before, now)| before.as_ptr() == now.get());
            if same && known.seen[5].as_ptr() == capture.get() {
                return Ok(known.number);
            }
        }
        let owned = |value: Held| unsafe { Bound::from_owned_ptr(py, value.into_ptr()).unbind() };
        let [number, broker, rack, client, listener] = values.map(owned);
        // SAFETY: the object lives.
        let object = unsafe { Bound::from_borrowed_ptr(py, connection.get()) };
        let found = self.place.bind(py).call1((object,))?.extract()?;
        if self.places.len() >= MAX_REMEMBERED {
            self.places.clear();
        }
        self.places
            .insert(address, Place { seen: [number, broker, rack, client, listener, owned(capture)], number: found });
        Ok(found)
    }

    /// Of a batch's form.
    fn form(&mut self, py: Python<'_>, is_request: bool, one: &Batch) -> PyResult<i64> {
        let key = (is_request, one.magic, one.codec(), one.is_transactional(), one.is_control());
        if let Some(found) = self.forms.get(&key) {
            return Ok(*found);
        }
        let found = self.form.bind(py).call1(key)?.extract()?;
        self.forms.insert(key, found);
        Ok(found)
    }

    /// Of who produces or fetches, by what the request says of it. A follower's rack may become known later.
    fn client(
        &mut self,
        py: Python<'_>,
        (connection, asked): (&Held, &Held),
        of: [i64; 2],
        said: &[Value],
        data: &[u8],
        is_fetch: bool,
    ) -> PyResult<i64> {
        let is_follower = is_fetch && said[0].int().is_some_and(|replica| replica >= 0);
        key_of(&mut self.key, said, data);
        of.iter().for_each(|number| self.key.extend(number.to_ne_bytes()));
        if let Some(found) = self.clients.get(&self.key).filter(|_| !is_follower || self.known.is_some()) {
            return Ok(*found);
        }
        // SAFETY: both objects live.
        let (connection, asked) =
            unsafe { (Bound::from_borrowed_ptr(py, connection.get()), Bound::from_borrowed_ptr(py, asked.get())) };
        let values = said.iter().map(|value| object(py, value, data)).collect::<PyResult<Vec<_>>>()?;
        let found = self.client.bind(py).call1((connection, asked, PyTuple::new(py, values)?))?.extract()?;
        if self.clients.len() >= MAX_REMEMBERED {
            self.clients.clear();
        }
        self.clients.insert(self.key.clone(), found);
        Ok(found)
    }

    /// Of the columns of all items' rows that are their own, item after item. The same answer comes again and again.
    fn items(
        &mut self,
        py: Python<'_>,
        levels: &[Level],
        walk: &Py<Walk>,
        found: &Found,
        data: &[u8],
    ) -> PyResult<&[i64]> {
        let mut key = data[LENGTH_BYTES..].to_vec(); // after the correlation id, or a request's API and version
        key.extend((walk.as_ptr() as usize).to_ne_bytes());
        levels.iter().for_each(|(_, _, function)| key.extend((function.as_ptr() as usize).to_ne_bytes()));
        if !self.messages.contains_key(&key) {
            let mut own = Vec::new();
            for (level, (from, to, function)) in levels.iter().enumerate() {
                for item in found.of(level) {
                    own.extend_from_slice(self.item(py, function, &item[*from..*to], data)?);
                }
            }
            self.message_bytes += key.len() + std::mem::size_of_val(own.as_slice());
            if self.message_bytes > MAX_REMEMBERED_BYTES {
                self.messages.clear();
                self.message_bytes = key.len() + std::mem::size_of_val(own.as_slice());
            }
            self.messages.insert(key.clone(), own);
        }
        Ok(self.messages.get(&key).map_or(&[], Vec::as_slice))
    }

    /// Of the columns of an item's row that are its own.
    fn item(&mut self, py: Python<'_>, of: &Py<PyAny>, item: &[Value], data: &[u8]) -> PyResult<&[i64]> {
        key_of(&mut self.key, item, data);
        self.key.extend((of.as_ptr() as usize).to_ne_bytes());
        if !self.items.contains_key(&self.key) {
            let values = item.iter().map(|value| object(py, value, data)).collect::<PyResult<Vec<_>>>()?;
            let found = of.bind(py).call1(PyTuple::new(py, values)?)?.extract()?;
            if self.items.len() >= MAX_REMEMBERED {
                self.items.clear();
            }
            self.items.insert(self.key.clone(), found);
        }
        Ok(self.items.get(&self.key).map_or(&[], Vec::as_slice))
    }
}

/// Writes values as bytes that are the same for the same values only.
fn key_of(key: &mut Vec<u8>, values: &[Value], data: &[u8]) {
    key.clear();
    for value in values {
        match value {
            Value::Null => key.push(0),
            Value::Int(number) => {
                key.push(1);
                key.extend(number.to_ne_bytes());
            }
            Value::Part(start, end) => {
                key.push(2);
                key.extend((end - start).to_ne_bytes());
                key.extend(&data[*start..*end]);
            }
            Value::Uuid(id) => {
                key.push(3);
                key.extend(id);
            }
        }
    }
}

/// A value as Python has it; texts and bytes are texts, as no row is made of bytes.
fn object<'py>(py: Python<'py>, value: &Value, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Part(..) => PyString::from_bytes(py, value.bytes(data))?.into_any(),
        Value::Uuid(id) => PyBytes::new(py, id).into_any(),
    })
}

fn id_of(value: &Value) -> [u8; 16] {
    match value {
        Value::Uuid(id) => *id,
        _ => NO_ID,
    }
}

/// Decodes frames that are plain.
#[pyclass]
pub struct FrameReader {
    plain: Read<3>,
    frame: Read<8>,
    asked: Read<5>,
    declared: Vec<(String, Event, Vec<String>)>,
    moved: Vec<i64>,
    kinds: HashMap<usize, Kind>,
    numbers: Numbers,
    inflater: Inflater,
    found: Found,
    request: Found,
    held: Parts,
}

#[pymethods]
impl FrameReader {
    /// Of the classes of frames, requests and connections, the state of the reading, of each table the event that it
    /// has rows of and their columns, the error codes of partitions that have moved, and functions by name.
    #[new]
    fn new(
        classes: (Bound<'_, PyType>, Bound<'_, PyType>, Bound<'_, PyType>),
        state: Bound<'_, PyAny>,
        declared: Vec<(String, String, Vec<String>)>,
        moved: Vec<i64>,
        functions: &Bound<'_, PyDict>,
    ) -> PyResult<FrameReader> {
        let function = |name: &str| -> PyResult<Py<PyAny>> {
            let found = functions.get_item(name)?;
            Ok(found.ok_or_else(|| PyTypeError::new_err(format!("no function {name}")))?.unbind())
        };
        let mut tables = Vec::new();
        for (table, event, columns) in declared {
            let found = EVENTS.iter().find(|(name, _)| *name == event);
            let (_, event) = found.ok_or_else(|| PyValueError::new_err(format!("no rows of {event}")))?;
            tables.push((table, *event, columns));
        }
        let frame_fields = ["index", "ts", "connection", "is_request", "data", "asked", "correlation_id", "offset"];
        Ok(FrameReader {
            plain: Read::new(&classes.0, ["index", "asked", "passed_over"])?,
            frame: Read::new(&classes.0, frame_fields)?,
            asked: Read::new(&classes.1, ["frame", "ts", "correlation_id", "data", "kind"])?,
            declared: tables,
            moved,
            kinds: HashMap::new(),
            numbers: Numbers {
                plan: function("plan")?,
                rows: function("rows")?,
                way: function("way")?,
                place: function("place")?,
                form: function("form")?,
                part: function("part")?,
                client: function("client")?,
                read: function("read")?,
                note: function("note")?,
                connection: Read::new(&classes.2, ["number", "broker", "rack", "client", "listener"])?,
                read_state: Read::new(&state.get_type(), ["capture", "known"])?,
                state: state.unbind(),
                places: HashMap::new(),
                forms: HashMap::new(),
                clients: HashMap::new(),
                items: HashMap::new(),
                messages: HashMap::new(),
                message_bytes: 0,
                repeated: HashMap::new(),
                repeated_bytes: 0,
                partitions: HashMap::new(),
                known: None,
                key: Vec::new(),
            },
            inflater: Inflater { decompress: function("decompress")?, known: Default::default(), known_bytes: 0 },
            found: Found::default(),
            request: Found::default(),
            held: Parts::default(),
        })
    }

    /// The functions, which know the decoder that has this reader.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Numbers { plan, rows, way, place, form, part, client, read, note, .. } = &self.numbers;
        [plan, rows, way, place, form, part, client, read, note, &self.inflater.decompress]
            .into_iter()
            .try_for_each(|function| visit.call(function))
    }

    /// Forgets all numbers, as the rows that have them were taken away.
    fn go_on(&mut self) {
        self.kinds.clear();
        self.numbers.clear();
    }

    /// Adds the rows of frames, at most of so many; returns their number and the next one, if that is Python's.
    fn decode_all<'py>(
        &mut self,
        py: Python<'py>,
        frames: &Bound<'py, PyAny>,
        most: usize,
    ) -> PyResult<(usize, Option<Bound<'py, PyAny>>)> {
        let mut frames = frames.try_iter()?;
        for count in 0..most {
            let Some(frame) = frames.next().transpose()? else { return Ok((count, None)) };
            let [index, asked, passed_over] = self.plain.values(py, frame.as_ptr())?;
            // SAFETY: the object lives; of another class than a tuple is an error.
            let is_whole = unsafe { PyTuple_Size(passed_over.get()) } == 0 && !is_none(&asked) && int(py, &index)? >= 0;
            if !is_whole || !self.decode(py, &frame)? {
                return Ok((count, Some(frame)));
            }
        }
        Ok((most, None))
    }

    /// Adds the rows of a frame that has its request. False: it is not plain, and nothing was added.
    fn decode(&mut self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.plain(py, frame)? || self.repeated(py, frame)?)
    }
}

impl FrameReader {
    fn plain(&mut self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<bool> {
        let [index, ts, connection, is_request, data, asked, correlation_id, offset] =
            &self.frame.values(py, frame.as_ptr())?;
        let [asked_frame, asked_ts, asked_id, asked_data, kind] = &self.asked.values(py, asked.get())?;
        let (data, asked_data) = (data_of(data)?, data_of(asked_data)?);
        let is_request = is_request.get() == unsafe { Py_True() };
        let address = kind.get() as usize;
        if !self.kinds.contains_key(&address) {
            self.meet(py, kind)?;
        }
        let Some(kind) = self.kinds.get_mut(&address) else { return Ok(false) };
        let Kind { request, response, rows, .. } = kind;
        let kind_object = kind.object.bind(py);
        let side = if is_request { request.as_ref() } else { response.as_ref() };
        let Some(side) = side else { return Ok(false) };
        let start = if is_request { kind.header_end } else { LENGTH_BYTES };
        let Some((walk, left)) = side.over(data, start, &mut self.found) else { return Ok(false) };
        let is_other = walk.as_ptr() != side.walk.as_ptr();
        // All that may be refused comes before the first row.
        let is_answer = matches!(side.makes, Makes::ProduceAnswer);
        if is_answer || matches!(side.makes, Makes::Fetched) {
            let Some(request) = &*request else { return Ok(false) };
            if request.over(asked_data, kind.header_end, &mut self.request).is_none() {
                return Ok(false);
            }
        }
        let has_parts = !matches!(side.makes, Makes::Nothing | Makes::Items(_));
        let (found, bytes) = if is_answer { (&self.request, asked_data) } else { (&self.found, data) };
        if has_parts && !self.held.count(py, found, bytes, &mut self.inflater) {
            return Ok(false);
        }
        let numbers = &mut self.numbers;
        let place = numbers.place(py, connection)?;
        let (ts, asked_ts) = (int(py, ts)?, int(py, asked_ts)?);
        let (index, asked_frame) = (int(py, index)?, int(py, asked_frame)?);
        let (size, asked_size) = ((data.len() + LENGTH_BYTES) as i64, (asked_data.len() + LENGTH_BYTES) as i64);
        let mut row = Row([NONE; HOW_MANY]);
        row.set([(Quantity::Place, place), (Quantity::Kind, kind.number)]);
        row.set([(Quantity::Ts, ts), (Quantity::Frame, index)]);
        if let (Makes::Items(levels), Some(rows)) = (&side.makes, &mut rows[Event::Item as usize]) {
            let own = numbers.items(py, levels, walk, found, data)?;
            let width = rows.own();
            own.chunks_exact(width.max(1)).for_each(|item| rows.add(&row, item));
        }
        if has_parts {
            numbers.look_at_known(py)?;
            let errors = if is_answer { errors_of(&self.found, data) } else { HashMap::new() };
            for (part, item) in self.held.parts.iter_mut().zip(found.of(0)) {
                let (name, id, number) = (item[NAME].bytes(bytes), id_of(&item[ID]), item[INDEX].int());
                (part.number, part.serving) = numbers.part(py, &item[NAME..=INDEX], bytes)?;
                if is_answer {
                    let name = if id == NO_ID { name } else { b"" };
                    part.error_code = errors.get(&(name, id, number)).copied().unwrap_or(NONE);
                } else if !is_request {
                    part.error_code = item[FETCH_ERROR].int().unwrap_or(NONE);
                    part.preferred = item[PREFERRED].int().filter(|replica| *replica >= 0).unwrap_or(NONE);
                }
            }
            if let (Some(rows), false) = (&mut rows[Event::Batch as usize], is_answer) {
                for part in &self.held.parts {
                    for one in &self.held.batches[part.batches.clone()] {
                        let counts = &one.counts;
                        row.set([(Quantity::Form, numbers.form(py, is_request, one)?), (Quantity::Part, part.number)]);
                        row.set([(Quantity::Records, counts.records), (Quantity::Bytes, one.size as i64)]);
                        row.set([(Quantity::KeyBytes, counts.key_bytes), (Quantity::ValueBytes, counts.value_bytes)]);
                        row.set([(Quantity::Headers, counts.headers), (Quantity::BaseOffset, one.base_offset)]);
                        row.set([(Quantity::ProducerId, one.producer_id), (Quantity::Error, NONE)]);
                        rows.add(&row, &[]);
                    }
                }
            }
            let acks = if matches!(side.makes, Makes::Fetched) { None } else { found.slots[ACKS].int() };
            if let (Some(rows), true) = (&mut rows[Event::Part as usize], !is_request || acks == Some(0)) {
                let who = (connection, asked);
                let client = match acks {
                    None => {
                        numbers.client(py, who, [place, kind.number], &self.request.slots[..3], asked_data, true)?
                    }
                    Some(_) => {
                        numbers.client(py, who, [place, kind.number], &found.slots[ACKS..=ACKS], bytes, false)?
                    }
                };
                if self.held.parts.is_empty() {
                    let mut none = Part::none();
                    let nothing = (py.None(), PyBytes::new(py, &NO_ID), py.None());
                    (none.number, none.serving) = numbers.part.bind(py).call1(nothing)?.extract()?;
                    self.held.parts.push(none);
                }
                let lengths: usize = self.held.parts.iter().map(|part| part.length).sum();
                let answered = if is_request { 0 } else { size };
                for (at, part) in self.held.parts.iter().enumerate() {
                    // A frame's bytes by partition: each its records, the first the rest of the frame too.
                    let rest =
                        |whole: i64| if at == 0 { whole - (lengths - part.length) as i64 } else { part.length as i64 };
                    let whole = |whole: i64| if at == 0 { whole } else { 0 };
                    let shares = if acks.is_some() {
                        (rest(asked_size), whole(answered))
                    } else {
                        (whole(asked_size), rest(answered))
                    };
                    let (records, keyed) = self.held.totals(part);
                    let moved =
                        if acks.is_some() { self.moved.contains(&part.error_code) } else { part.preferred != NONE };
                    row.set([(Quantity::Client, client), (Quantity::Serving, part.serving)]);
                    row.set([(Quantity::Part, part.number), (Quantity::Ts, asked_ts)]);
                    row.set([(Quantity::RequestBytes, shares.0), (Quantity::ResponseBytes, shares.1)]);
                    row.set([(Quantity::RecordBytes, part.length as i64), (Quantity::Records, records)]);
                    row.set([(Quantity::Redirected, i64::from(moved)), (Quantity::Preferred, part.preferred)]);
                    row.set([(Quantity::Keyed, keyed), (Quantity::ErrorCode, part.error_code)]);
                    row.set([(Quantity::Frame, asked_frame), (Quantity::First, i64::from(at == 0))]);
                    rows.add(&row, &[]);
                }
            }
        }
        let way = match kind.ways.get(&(is_request, is_other, left)) {
            _ if rows[Event::Frame as usize].is_none() => NONE,
            Some(known) => *known,
            None => {
                let found = numbers.way.bind(py).call1((kind_object, is_request, is_other, left))?.extract()?;
                if kind.ways.len() < MAX_REMEMBERED {
                    kind.ways.insert((is_request, is_other, left), found);
                }
                found
            }
        };
        let (correlation_id, offset, asked_id) = (int(py, correlation_id)?, int(py, offset)?, int(py, asked_id)?);
        let own =
            Own { ts, index, size, offset, correlation_id, is_request, asked_ts, asked_frame, asked_size, asked_id };
        own.add(&mut row, way, NONE, rows);
        rows.iter_mut().flatten().try_for_each(|one| one.flush(kind_object, &numbers.rows))?;
        Ok(true)
    }

    /// Adds the rows of a frame that Python reads: those of an earlier one with the same bytes, if nothing that they
    /// depend on has changed. False: its rows depend on more, and nothing was added.
    fn repeated(&mut self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<bool> {
        let [index, ts, connection, is_request, data, asked, correlation_id, offset] =
            &self.frame.values(py, frame.as_ptr())?;
        let [asked_frame, asked_ts, asked_id, asked_data, kind] = &self.asked.values(py, asked.get())?;
        let (data, asked_data) = (data_of(data)?, data_of(asked_data)?);
        let is_request = is_request.get() == unsafe { Py_True() };
        let numbers = &mut self.numbers;
        numbers.look_at_known(py)?;
        let Some(Kind { object, number, rows, repeats: true, .. }) = self.kinds.get_mut(&(kind.get() as usize)) else {
            return Ok(false);
        };
        let Some((known, changes)) = &numbers.known else { return Ok(false) };
        let (known, changes) = (known.clone_ref(py).into_bound(py), *changes);
        let named: i64 = known.getattr(pyo3::intern!(py, "named"))?.extract()?;
        let [_, broker, ..] = numbers.connection.values(py, connection.get())?;
        let mut key = asked_data.get(2 * LENGTH_BYTES..).unwrap_or(&[]).to_vec(); // after the correlation ids
        key.extend((key.len() as u64).to_ne_bytes());
        key.extend(if is_request { &[] } else { data.get(LENGTH_BYTES..).unwrap_or(&[]) });
        key.extend((object.as_ptr() as usize).to_ne_bytes());
        key.extend(int(py, &broker)?.to_ne_bytes());
        key.push(u8::from(is_request));
        let place = numbers.place(py, connection)?;
        let (ts, index) = (int(py, ts)?, int(py, index)?);
        let Some(found) = numbers.repeated.get_mut(&key).filter(|found| found.named == named) else {
            return numbers.first(py, frame, asked, key);
        };
        if found.changes != changes {
            numbers.note.bind(py).call1((&found.facts,))?;
            found.changes = known_changes(&known)?;
        }
        for (held, width, columns, rows) in &mut found.tables {
            for row in rows.chunks_exact_mut(*width) {
                columns.iter().zip([place, ts, index]).for_each(|(column, value)| row[*column] = value);
            }
            append(py, held.as_ptr(), as_bytes(rows))?;
        }
        let mut row = Row([NONE; HOW_MANY]);
        row.set([(Quantity::Place, place), (Quantity::Kind, *number)]);
        let own = Own {
            ts,
            index,
            size: (data.len() + LENGTH_BYTES) as i64,
            offset: int(py, offset)?,
            correlation_id: int(py, correlation_id)?,
            is_request,
            asked_ts: int(py, asked_ts)?,
            asked_frame: int(py, asked_frame)?,
            asked_size: (asked_data.len() + LENGTH_BYTES) as i64,
            asked_id: int(py, asked_id)?,
        };
        own.add(&mut row, found.way, found.error, rows);
        let kind_object = object.bind(py);
        rows.iter_mut().flatten().try_for_each(|one| one.flush(kind_object, &numbers.rows))?;
        Ok(true)
    }

    /// Asks what a kind that is new gives.
    fn meet(&mut self, py: Python<'_>, object: &Held) -> PyResult<()> {
        type Plan<'py> = (usize, i64, Vec<String>, Bound<'py, PyAny>, Bound<'py, PyAny>, bool);
        // SAFETY: the object lives.
        let object = unsafe { Bound::from_borrowed_ptr(py, object.get()) };
        let found = self.numbers.plan.bind(py).call1((&object,))?;
        let (header_end, number, tables, request, response, repeats): Plan<'_> = found.extract()?;
        let mut rows = [None, None, None, None, None];
        for (table, event, columns) in &self.declared {
            if tables.contains(table) {
                rows[*event as usize] = Some(Rows::read(table, columns, *event)?);
            }
        }
        if self.kinds.len() >= MAX_REMEMBERED {
            self.kinds.clear();
            self.numbers.clear(); // some are found by the addresses of kinds' functions
        }
        let (request, response) = (Side::read(&request)?, Side::read(&response)?);
        let (address, object) = (object.as_ptr() as usize, object.unbind());
        let kind = Kind { object, number, header_end, rows, request, response, ways: HashMap::new(), repeats };
        self.kinds.insert(address, kind);
        Ok(())
    }
}

/// A topic's name, its id, and the number of one of its partitions.
type Partition<'a> = (&'a [u8], [u8; 16], Option<i64>);

/// The error codes of a Produce response, by topic and partition; a topic with an id has no name there.
fn errors_of<'a>(found: &Found, data: &'a [u8]) -> HashMap<Partition<'a>, i64> {
    let of = |item: &[Value]| {
        let key = (item[NAME].bytes(data), id_of(&item[ID]), item[INDEX].int());
        (key, item[PRODUCE_ERROR].int().unwrap_or(NONE))
    };
    found.of(0).map(of).collect()
}
