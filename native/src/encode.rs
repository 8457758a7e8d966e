//! Instances to bytes. What cannot be written is refused here without words: the reference codec finds them.
use crate::class::Class;
use crate::object::{contents, Held, Obj};
use crate::program::{Default, Fresh, Length, Number, Op, Program, Record, Tags};
use pyo3::ffi::{
    PyBUF_SIMPLE, PyBuffer_Release, PyByteArray_Check, PyBytes_AsString, PyBytes_Check, PyBytes_FromStringAndSize,
    PyBytes_Size, PyDict_Check, PyDict_Items, PyErr_Occurred, PyFloat_AsDouble, PyList_Append, PyList_Check,
    PyList_GetItem, PyList_New, PyList_Size, PyLong_AsLongLongAndOverflow, PyLong_Check, PyMemoryView_Check,
    PyNumber_Index, PyObject_GetAttrString, PyObject_GetBuffer, PyObject_RichCompareBool, PySequence_Fast,
    PySequence_GetItem, PySequence_Size, PyTuple_Check, PyTuple_GetItem, PyTuple_Size, PyUnicode_AsUTF8AndSize,
    PyUnicode_Check, Py_EQ, Py_None, Py_TYPE, Py_buffer,
};

const MAX_STRING_BYTES: isize = 32767;
/// Bytes that are copied once only, to where they go in the end.
const LARGE_VALUE: usize = 1 << 12;
/// Pieces that are not copied at all (`LARGE_PIECE_BYTES` of `protocol/framing.py`).
const LARGE_PIECE: usize = 1 << 16;

/// The message cannot be written; an exception may be set.
pub struct Refused;
type Done = Result<(), Refused>;

/// A large `bytes` object, and how many of the bytes in `small` come before it.
struct Large {
    before: usize,
    value: Held,
}

pub struct Encoder<'a> {
    program: &'a Program,
    small: Vec<u8>,
    large: Vec<Large>,
    /// From how many bytes on a value is not copied into `small`.
    large_from: usize,
    takes_pieces: bool,
}

/// A whole number within bounds; what is no `int` is asked for its index, as `struct` does.
#[inline(always)]
unsafe fn int(object: Obj, lowest: i64, highest: i64) -> Result<i64, Refused> {
    if PyLong_Check(object) == 0 {
        let index = Held::of(PyNumber_Index(object)).ok_or(Refused)?;
        return int(index.get(), lowest, highest);
    }
    let mut overflow = 0;
    let value = PyLong_AsLongLongAndOverflow(object, &mut overflow);
    if overflow != 0 || value < lowest || value > highest {
        return Err(Refused);
    }
    Ok(value)
}

/// Whether a value is what the field has by itself.
unsafe fn is_default(value: &Held, default: &Default) -> Result<bool, Refused> {
    match PyObject_RichCompareBool(value.get(), default.equal.as_ptr(), Py_EQ) {
        -1 => Err(Refused),
        answer => Ok(answer == 1),
    }
}

unsafe fn is_empty(value: &Held, default: &Default) -> bool {
    matches!(default.fresh, Fresh::List) && PyTuple_Check(value.get()) != 0 && PyTuple_Size(value.get()) == 0
}

fn put_uvarint(out: &mut Vec<u8>, mut value: u32) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl<'a> Encoder<'a> {
    pub fn new(program: &'a Program, in_pieces: bool) -> Encoder<'a> {
        let large_from = if in_pieces { LARGE_PIECE } else { LARGE_VALUE };
        Encoder { program, small: Vec::with_capacity(128), large: Vec::new(), large_from, takes_pieces: in_pieces }
    }

    pub unsafe fn message(&mut self, message: Obj) -> Done {
        self.record(&self.program.root, message)
    }

    /// All of it as one `bytes`. `None`: an exception is set.
    pub unsafe fn whole(&self) -> Option<Held> {
        let size = self.small.len() + self.large.iter().map(|one| contents(&one.value).len()).sum::<usize>();
        if self.large.is_empty() {
            return Held::of(PyBytes_FromStringAndSize(self.small.as_ptr().cast(), size as isize));
        }
        let whole = Held::of(PyBytes_FromStringAndSize(std::ptr::null(), size as isize))?;
        // SAFETY: nobody else has the new object yet, and it has so many bytes.
        let room = std::slice::from_raw_parts_mut(PyBytes_AsString(whole.get()).cast::<u8>(), size);
        let (mut at, mut taken) = (0, 0);
        let mut put = |data: &[u8]| {
            room[at..at + data.len()].copy_from_slice(data);
            at += data.len();
        };
        for one in &self.large {
            put(&self.small[taken..one.before]);
            put(contents(&one.value));
            taken = one.before;
        }
        put(&self.small[taken..]);
        Some(whole)
    }

    /// All of it as a list of `bytes`, the large ones as they were. `None`: an exception is set.
    pub unsafe fn pieces(&self) -> Option<Held> {
        let list = Held::of(PyList_New(0))?;
        let put = |piece: &Held| if PyList_Append(list.get(), piece.get()) < 0 { None } else { Some(()) };
        let put_small = |from: usize, to: usize| {
            if from == to {
                return Some(());
            }
            let data = &self.small[from..to];
            put(&Held::of(PyBytes_FromStringAndSize(data.as_ptr().cast(), data.len() as isize))?)
        };
        let mut taken = 0;
        for one in &self.large {
            put_small(taken, one.before)?;
            put(&one.value)?;
            taken = one.before;
        }
        put_small(taken, self.small.len())?;
        Some(list)
    }

    #[inline(always)]
    fn length(&mut self, length: Length, is_text: bool, count: isize) -> Done {
        if length.compact {
            put_uvarint(&mut self.small, u32::try_from(count + 1).map_err(|_| Refused)?);
        } else if is_text {
            let short = i16::try_from(count).map_err(|_| Refused)?;
            self.small.extend_from_slice(&short.to_be_bytes());
        } else {
            let long = i32::try_from(count).map_err(|_| Refused)?;
            self.small.extend_from_slice(&long.to_be_bytes());
        }
        Ok(())
    }

    fn null(&mut self, length: Length, is_text: bool) -> Done {
        if length.nullable {
            self.length(length, is_text, -1)
        } else {
            Err(Refused)
        }
    }

    #[inline(always)]
    unsafe fn number(&mut self, kind: Number, value: Obj) -> Done {
        let out = &mut self.small;
        match kind {
            Number::I8 => out.push(int(value, i8::MIN.into(), i8::MAX.into())? as u8),
            Number::U8 | Number::Bool => out.push(int(value, 0, u8::MAX.into())? as u8),
            Number::I16 => {
                let number = int(value, i16::MIN.into(), i16::MAX.into())? as i16;
                out.extend_from_slice(&number.to_be_bytes());
            }
            Number::U16 => out.extend_from_slice(&(int(value, 0, u16::MAX.into())? as u16).to_be_bytes()),
            Number::I32 => {
                let number = int(value, i32::MIN.into(), i32::MAX.into())? as i32;
                out.extend_from_slice(&number.to_be_bytes());
            }
            Number::U32 => out.extend_from_slice(&(int(value, 0, u32::MAX.into())? as u32).to_be_bytes()),
            Number::I64 => out.extend_from_slice(&int(value, i64::MIN, i64::MAX)?.to_be_bytes()),
            Number::F64 => {
                let number = PyFloat_AsDouble(value);
                if number == -1.0 && !PyErr_Occurred().is_null() {
                    return Err(Refused);
                }
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
        Ok(())
    }

    #[inline(always)]
    unsafe fn text(&mut self, length: Length, value: Obj) -> Done {
        if value == Py_None() {
            return self.null(length, true);
        }
        if PyUnicode_Check(value) == 0 {
            return Err(Refused);
        }
        let mut size = 0;
        let data = PyUnicode_AsUTF8AndSize(value, &mut size);
        if data.is_null() || size > MAX_STRING_BYTES {
            return Err(Refused);
        }
        self.length(length, true, size)?;
        self.small.extend_from_slice(std::slice::from_raw_parts(data.cast(), size as usize));
        Ok(())
    }

    /// Puts a `bytes` object into its place, or remembers where that is.
    unsafe fn put(&mut self, value: &Held) {
        let data = contents(value);
        if data.len() < self.large_from {
            self.small.extend_from_slice(data);
        } else {
            self.large.push(Large { before: self.small.len(), value: Held::new(value.get()) });
        }
    }

    #[inline(always)]
    unsafe fn blob(&mut self, length: Length, value: &Held) -> Done {
        if PyBytes_Check(value.get()) != 0 {
            self.length(length, false, PyBytes_Size(value.get()))?;
            self.put(value);
            return Ok(());
        }
        self.rare_blob(length, value)
    }

    #[inline(never)]
    unsafe fn rare_blob(&mut self, length: Length, value: &Held) -> Done {
        if value.get() == Py_None() {
            return self.null(length, false);
        }
        if self.takes_pieces && Py_TYPE(value.get()).cast() == self.program.pieces.as_ptr() {
            return self.several(length, value);
        }
        if PyByteArray_Check(value.get()) == 0 && PyMemoryView_Check(value.get()) == 0 {
            return Err(Refused);
        }
        let mut view: Py_buffer = std::mem::zeroed();
        if PyObject_GetBuffer(value.get(), &mut view, PyBUF_SIMPLE) < 0 {
            return Err(Refused);
        }
        let done = self.length(length, false, view.len);
        if done.is_ok() && view.len > 0 {
            self.small.extend_from_slice(std::slice::from_raw_parts(view.buf.cast(), view.len as usize));
        }
        PyBuffer_Release(&mut view);
        done
    }

    /// The bytes of `Pieces`.
    unsafe fn several(&mut self, length: Length, value: &Held) -> Done {
        let pieces = Held::of(PyObject_GetAttrString(value.get(), c"pieces".as_ptr())).ok_or(Refused)?;
        let mut found = Vec::new();
        for index in 0..PySequence_Size(pieces.get()) {
            let piece = Held::of(PySequence_GetItem(pieces.get(), index)).ok_or(Refused)?;
            if PyBytes_Check(piece.get()) == 0 {
                return Err(Refused);
            }
            found.push(piece);
        }
        self.length(length, false, found.iter().map(|piece| PyBytes_Size(piece.get())).sum())?;
        for piece in &found {
            self.put(piece);
        }
        Ok(())
    }

    unsafe fn array(&mut self, length: Length, item: &Op, value: Obj) -> Done {
        if value == Py_None() {
            return self.null(length, false);
        }
        if PyList_Check(value) != 0 {
            let count = PyList_Size(value);
            self.length(length, false, count)?;
            for index in 0..count {
                let found = PyList_GetItem(value, index); // null where comparing items has made the list shorter
                if found.is_null() {
                    return Err(Refused);
                }
                self.value(item, &Held::new(found))?;
            }
            return Ok(());
        }
        if PyTuple_Check(value) == 0 {
            return Err(Refused);
        }
        self.length(length, false, PyTuple_Size(value))?;
        for index in 0..PyTuple_Size(value) {
            self.value(item, &Held::new(PyTuple_GetItem(value, index)))?;
        }
        Ok(())
    }

    #[inline(always)]
    unsafe fn value(&mut self, op: &Op, value: &Held) -> Done {
        match op {
            Op::Number(kind) => self.number(*kind, value.get()),
            Op::Uuid => {
                if PyBytes_Check(value.get()) == 0 || PyBytes_Size(value.get()) != 16 {
                    return Err(Refused);
                }
                self.small.extend_from_slice(contents(value));
                Ok(())
            }
            Op::Text(length) => self.text(*length, value.get()),
            Op::Blob(length) => self.blob(*length, value),
            Op::Array(length, item) => self.array(*length, item, value.get()),
            Op::Record(record) => self.record(record, value.get()),
            Op::NullableRecord(compact, record) => {
                if value.get() == Py_None() {
                    self.small.push(if *compact { 0 } else { 0xff });
                    return Ok(());
                }
                self.small.push(1);
                self.record(record, value.get())
            }
        }
    }

    unsafe fn record(&mut self, record: &Record, object: Obj) -> Done {
        let class = &record.class;
        if !class.is_class_of(object) {
            return Err(Refused);
        }
        for lack in record.lacks.iter().filter(|lack| lack.strict) {
            if !is_default(&field(class, object, lack.place)?, &lack.default)? {
                return Err(Refused);
            }
        }
        for step in &record.steps {
            self.value(&step.op, &field(class, object, step.place)?)?;
        }
        match &record.tags {
            Some(tags) => self.tags(class, tags, object),
            None => Ok(()),
        }
    }

    #[inline(always)]
    unsafe fn tags(&mut self, class: &Class, tags: &Tags, object: Obj) -> Done {
        let unknown = field(class, object, tags.unknown)?;
        let mut chosen = Vec::new();
        for known in &tags.known {
            let value = field(class, object, known.step.place)?;
            if !is_default(&value, &known.default)? && !is_empty(&value, &known.default) {
                chosen.push((known.tag, self.apart(&known.step.op, &value)?));
            }
        }
        if chosen.is_empty() && PyTuple_Check(unknown.get()) != 0 && PyTuple_Size(unknown.get()) == 0 {
            self.small.push(0);
            return Ok(());
        }
        self.tagged(tags, chosen, &unknown)
    }

    /// A value's bytes, which do not join those of the message.
    #[inline(never)]
    unsafe fn apart(&self, op: &Op, value: &Held) -> Result<Vec<u8>, Refused> {
        let mut own = Encoder {
            program: self.program,
            small: Vec::new(),
            large: Vec::new(),
            large_from: usize::MAX,
            takes_pieces: false,
        };
        own.value(op, value)?;
        Ok(own.small)
    }

    #[inline(never)]
    unsafe fn tagged(&mut self, tags: &Tags, mut chosen: Vec<(u32, Vec<u8>)>, unknown: &Held) -> Done {
        let pairs = if PyDict_Check(unknown.get()) != 0 {
            PyDict_Items(unknown.get())
        } else {
            PySequence_Fast(unknown.get(), c"tagged fields are pairs".as_ptr())
        };
        let pairs = Held::of(pairs).ok_or(Refused)?;
        for index in 0..PySequence_Size(pairs.get()) {
            let pair = Held::of(PySequence_GetItem(pairs.get(), index)).ok_or(Refused)?;
            if PyTuple_Check(pair.get()) == 0 || PyTuple_Size(pair.get()) != 2 {
                return Err(Refused);
            }
            let data = Held::new(PyTuple_GetItem(pair.get(), 1));
            if PyBytes_Check(data.get()) == 0 {
                return Err(Refused);
            }
            let tag = int(PyTuple_GetItem(pair.get(), 0), 0, u32::MAX.into())? as u32;
            if tags.known.iter().any(|known| known.tag == tag) {
                return Err(Refused);
            }
            chosen.push((tag, contents(&data).to_vec()));
        }
        chosen.sort_by_key(|one| one.0);
        if chosen.windows(2).any(|two| two[0].0 == two[1].0) {
            return Err(Refused);
        }
        put_uvarint(&mut self.small, u32::try_from(chosen.len()).map_err(|_| Refused)?);
        for (tag, data) in chosen {
            put_uvarint(&mut self.small, tag);
            put_uvarint(&mut self.small, u32::try_from(data.len()).map_err(|_| Refused)?);
            self.small.extend_from_slice(&data);
        }
        Ok(())
    }
}

#[inline(always)]
unsafe fn field(class: &Class, object: Obj, place: usize) -> Result<Held, Refused> {
    class.value(object, place).ok_or(Refused)
}
