//! Bytes to instances. A fault gathers its path on the way back up, so that a sound message pays nothing for it.
//!
//! The words of the faults are those of `protocol/wire.py`, whose reading is held equal to this one.
use crate::class::Unfinished;
use crate::object::{forget_exception, Held, Obj, Stack};
use crate::program::{Default, Fresh, Length, Number, Op, Program, Record, Step, Tags};
use pyo3::ffi::{
    PyBytes_FromStringAndSize, PyErr_Fetch, PyErr_NormalizeException, PyFloat_FromDouble, PyList_New, PyList_SetItem,
    PyLong_FromLongLong, PyObject_Str, PySequence_GetSlice, PyTuple_New, PyTuple_SetItem, PyUnicode_AsUTF8AndSize,
    PyUnicode_DecodeUTF8, Py_False, Py_True,
};
use std::collections::{HashMap, HashSet};

pub const MAX_STRING_BYTES: usize = 32767;
const MAX_INTERNED: usize = 4096;
pub const FEW_TAGS: usize = 16;

pub enum Cause {
    Words(String),
    /// More elements than the caller takes.
    TooMany,
    /// An exception of Python's is set.
    Python,
}

pub struct Fault {
    pub cause: Cause,
    pub offset: usize,
    /// Names and indices, the innermost first.
    path: Vec<String>,
}

impl Fault {
    /// As `topics[4].name`.
    pub fn path(&self) -> String {
        let joined: String = self.path.iter().rev().map(String::as_str).collect();
        joined.trim_start_matches('.').to_owned()
    }

    #[cold]
    #[inline(never)]
    fn in_field(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.path.push(format!(".{name}"));
        self
    }

    #[cold]
    #[inline(never)]
    fn in_item(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.path.push(format!("[{index}]"));
        self
    }
}

type Found<T> = Result<T, Box<Fault>>;

#[cold]
#[inline(never)]
fn refuse<T>(cause: Cause, offset: usize) -> Found<T> {
    Err(Box::new(Fault { cause, offset, path: Vec::new() }))
}

#[cold]
#[inline(never)]
fn fault<T>(words: String, offset: usize) -> Found<T> {
    refuse(Cause::Words(words), offset)
}

/// An object that Python made, or the fault that its exception is.
#[inline(always)]
fn made(object: Obj) -> Found<Held> {
    match Held::of(object) {
        Some(held) => Ok(held),
        None => refuse(Cause::Python, 0),
    }
}

/// Bytes and a position among them.
pub struct Cursor<'a> {
    pub data: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn left(&self) -> usize {
        self.data.len() - self.at
    }

    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Found<&'a [u8]> {
        match self.data.get(self.at..self.at + count) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => fault(format!("expected {count} bytes, {} remain", self.left()), self.at),
        }
    }

    #[inline(always)]
    pub fn fixed<const WIDTH: usize>(&mut self) -> Found<[u8; WIDTH]> {
        let taken = self.take(WIDTH)?;
        let mut bytes = [0; WIDTH];
        bytes.copy_from_slice(taken);
        Ok(bytes)
    }

    #[inline(always)]
    pub fn uvarint(&mut self) -> Found<u32> {
        match self.data.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u32::from(byte))
            }
            _ => self.long_uvarint(),
        }
    }

    #[inline(never)]
    fn long_uvarint(&mut self) -> Found<u32> {
        let start = self.at;
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.fixed::<1>()?[0];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
            if shift >= 32 {
                return fault(format!("varint goes on after {} bytes", shift / 7), start);
            }
        }
        match u32::try_from(value) {
            Ok(fitting) => Ok(fitting),
            Err(_) => fault(format!("varint {value} does not fit 32 bits"), start),
        }
    }

    /// How many bytes or items follow; `None` is null.
    #[inline(always)]
    pub fn length(&mut self, length: Length, is_text: bool) -> Found<Option<usize>> {
        let start = self.at;
        let count = if length.compact {
            i64::from(self.uvarint()?) - 1
        } else if is_text {
            i64::from(i16::from_be_bytes(self.fixed()?))
        } else {
            i64::from(i32::from_be_bytes(self.fixed()?))
        };
        match usize::try_from(count) {
            Ok(fitting) if fitting <= self.left() => Ok(Some(fitting)),
            Err(_) if count == -1 && length.nullable => Ok(None),
            _ => self.bad_length(count, start),
        }
    }

    #[cold]
    #[inline(never)]
    fn bad_length<T>(&self, count: i64, start: usize) -> Found<T> {
        let words = match count {
            -1 => "null, but it is not nullable".to_owned(),
            ..=-2 => format!("length {count}"),
            _ => format!("length {count}, but {} bytes remain", self.left()),
        };
        fault(words, start)
    }
}

/// Reads one message; `view` is what bytes fields are slices of, where they are not to be copied.
pub struct Decoder<'a> {
    pub program: &'a Program,
    pub cursor: Cursor<'a>,
    pub view: Option<Held>,
    /// How many elements arrays may still have.
    pub items: usize,
    /// Numbers that were met, in large messages: the ids of brokers would else take more memory than all the rest.
    pub interned: Option<HashMap<i64, Held>>,
    pub stack: Stack,
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        if self.stack.is_small() {
            self.program.stack.set(std::mem::take(&mut self.stack));
        }
    }
}

impl<'a> Decoder<'a> {
    pub unsafe fn message(&mut self) -> Found<Held> {
        let program = self.program;
        self.record(&program.root)
    }

    unsafe fn int(&mut self, value: i64) -> Found<Held> {
        let Some(known) = &mut self.interned else {
            return made(PyLong_FromLongLong(value));
        };
        if let Some(found) = known.get(&value) {
            return Ok(Held::new(found.get()));
        }
        let new = made(PyLong_FromLongLong(value))?;
        if known.len() < MAX_INTERNED {
            known.insert(value, Held::new(new.get()));
        }
        Ok(new)
    }

    #[inline(always)]
    unsafe fn number(&mut self, kind: Number) -> Found<Held> {
        let cursor = &mut self.cursor;
        let value = match kind {
            Number::I8 => i64::from(i8::from_be_bytes(cursor.fixed()?)),
            Number::I16 => i64::from(i16::from_be_bytes(cursor.fixed()?)),
            Number::I32 => i64::from(i32::from_be_bytes(cursor.fixed()?)),
            Number::I64 => i64::from_be_bytes(cursor.fixed()?),
            Number::U8 => i64::from(cursor.fixed::<1>()?[0]),
            Number::U16 => i64::from(u16::from_be_bytes(cursor.fixed()?)),
            Number::U32 => i64::from(u32::from_be_bytes(cursor.fixed()?)),
            Number::F64 => return made(PyFloat_FromDouble(f64::from_be_bytes(cursor.fixed()?))),
            Number::Bool => {
                let is_true = cursor.fixed::<1>()?[0] != 0;
                return Ok(Held::new(if is_true { Py_True() } else { Py_False() }));
            }
        };
        if self.interned.is_some() {
            return self.int(value);
        }
        made(PyLong_FromLongLong(value))
    }

    #[inline(always)]
    unsafe fn text(&mut self, length: Length) -> Found<Held> {
        let start = self.cursor.at;
        let Some(count) = self.cursor.length(length, true)? else {
            return Ok(Held::none());
        };
        if count > MAX_STRING_BYTES {
            let words = format!("string of {count} bytes, at most {MAX_STRING_BYTES} are allowed");
            return fault(words, start);
        }
        let data = self.cursor.take(count)?;
        match Held::of(PyUnicode_DecodeUTF8(data.as_ptr().cast(), data.len() as isize, std::ptr::null())) {
            Some(text) => Ok(text),
            None => fault(format!("not UTF-8: {}", words_of_exception()), start),
        }
    }

    #[inline(always)]
    unsafe fn blob(&mut self, length: Length) -> Found<Held> {
        let Some(count) = self.cursor.length(length, false)? else {
            return Ok(Held::none());
        };
        let start = self.cursor.at;
        let data = self.cursor.take(count)?;
        match &self.view {
            Some(view) => made(PySequence_GetSlice(view.get(), start as isize, self.cursor.at as isize)),
            None => bytes(data),
        }
    }

    /// Refuses more elements than there may still be, before they are made.
    #[inline(always)]
    fn count(&mut self, count: usize, start: usize) -> Found<()> {
        match self.items.checked_sub(count) {
            Some(left) => {
                self.items = left;
                Ok(())
            }
            None => refuse(Cause::TooMany, start),
        }
    }

    unsafe fn array(&mut self, length: Length, item: &'a Op) -> Found<Held> {
        let start = self.cursor.at;
        let Some(count) = self.cursor.length(length, false)? else {
            return Ok(Held::none());
        };
        self.count(count, start)?;
        // The list is made when all its items are there: the collector, and who looks through it, never sees half a one.
        let below = self.stack.len();
        for index in 0..count {
            match self.value(item) {
                Ok(value) => self.stack.push(value),
                Err(error) => {
                    drop(self.stack.drain_from(below));
                    return Err(error.in_item(index));
                }
            }
        }
        let list = made(PyList_New(count as isize))?;
        for (index, value) in self.stack.drain_from(below).enumerate() {
            PyList_SetItem(list.get(), index as isize, value.into_ptr());
        }
        Ok(list)
    }

    #[inline(always)]
    unsafe fn value(&mut self, op: &'a Op) -> Found<Held> {
        match op {
            Op::Number(kind) => self.number(*kind),
            Op::Uuid => {
                let data = self.cursor.take(16)?;
                bytes(data)
            }
            Op::Text(length) => self.text(*length),
            Op::Blob(length) => self.blob(*length),
            Op::Array(length, item) => self.array(*length, item),
            Op::Record(record) => self.record(record),
            Op::NullableRecord(compact, record) => {
                let is_null =
                    if *compact { self.cursor.uvarint()? == 0 } else { i8::from_be_bytes(self.cursor.fixed()?) < 0 };
                if is_null {
                    Ok(Held::none())
                } else {
                    self.record(record)
                }
            }
        }
    }

    unsafe fn fresh(&mut self, default: &'a Default) -> Found<Held> {
        match &default.fresh {
            Fresh::Same(object) => Ok(Held::new(object.as_ptr())),
            Fresh::List => made(PyList_New(0)),
            Fresh::Record(record) => self.record(record),
        }
    }

    unsafe fn record(&mut self, record: &'a Record) -> Found<Held> {
        let Some(mut instance) = record.class.begin() else {
            return refuse(Cause::Python, 0);
        };
        for step in &record.steps {
            let value = self.field(step)?;
            instance.set(step.place, value);
        }
        for lack in &record.lacks {
            let value = self.fresh(&lack.default)?;
            instance.set(lack.place, value);
        }
        if let Some(tags) = &record.tags {
            if self.cursor.data.get(self.cursor.at) == Some(&0) {
                self.cursor.at += 1;
                instance.set(tags.unknown, Held::new(self.program.no_tags.as_ptr()));
            } else if let Err(error) = self.tagged(&mut instance, tags) {
                return Err(error.in_field("unknown_tagged_fields"));
            }
            for known in &tags.known {
                if !instance.is_set(known.step.place) {
                    let value = self.fresh(&known.default)?;
                    instance.set(known.step.place, value);
                }
            }
        }
        match record.class.finish(instance) {
            Some(finished) => Ok(finished),
            None => refuse(Cause::Python, 0),
        }
    }

    #[inline(always)]
    unsafe fn field(&mut self, step: &'a Step) -> Found<Held> {
        match self.value(&step.op) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_field(&step.name)),
        }
    }

    #[inline(never)]
    unsafe fn tagged(&mut self, instance: &mut Unfinished, tags: &'a Tags) -> Found<()> {
        let start = self.cursor.at;
        let count = self.cursor.uvarint()?;
        self.count(count as usize, start)?;
        let mut unknown: Vec<(u32, &[u8])> = Vec::new();
        let (mut few, mut many) = (Vec::new(), HashSet::new());
        let view = self.view.take(); // values of tagged fields are copies
        for _ in 0..count {
            let start = self.cursor.at;
            let tag = self.cursor.uvarint()?;
            if few.contains(&tag) || many.contains(&tag) {
                return fault(format!("tag {tag} comes twice"), start);
            }
            if few.len() < FEW_TAGS {
                few.push(tag);
            } else {
                many.insert(tag);
            }
            let length = self.cursor.uvarint()? as usize;
            if length > self.cursor.left() {
                let words = format!("tag {tag} of {length} bytes, but {} remain", self.cursor.left());
                return fault(words, start);
            }
            let end = self.cursor.at + length;
            let Some(known) = tags.known.iter().find(|one| one.tag == tag) else {
                unknown.push((tag, self.cursor.take(length)?));
                continue;
            };
            let value = self.field(&known.step)?;
            instance.set(known.step.place, value);
            if self.cursor.at != end {
                let taken = length as i64 + self.cursor.at as i64 - end as i64;
                return fault(format!("tag {tag} says {length} bytes, its value has {taken}"), start);
            }
        }
        self.view = view;
        let pairs = made(PyTuple_New(unknown.len() as isize))?;
        for (index, (tag, data)) in unknown.into_iter().enumerate() {
            let pair = made(PyTuple_New(2))?;
            PyTuple_SetItem(pair.get(), 0, made(PyLong_FromLongLong(i64::from(tag)))?.into_ptr());
            PyTuple_SetItem(pair.get(), 1, bytes(data)?.into_ptr());
            PyTuple_SetItem(pairs.get(), index as isize, pair.into_ptr());
        }
        instance.set(tags.unknown, pairs);
        Ok(())
    }
}

unsafe fn bytes(data: &[u8]) -> Found<Held> {
    made(PyBytes_FromStringAndSize(data.as_ptr().cast(), data.len() as isize))
}

/// The words of the exception that is set, which is then forgotten.
#[cold]
#[inline(never)]
#[allow(deprecated)] // PyErr_GetRaisedException is 3.12's
unsafe fn words_of_exception() -> String {
    let (mut kind, mut value, mut trace) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    PyErr_Fetch(&mut kind, &mut value, &mut trace);
    PyErr_NormalizeException(&mut kind, &mut value, &mut trace);
    let (_kind, value, _trace) = (Held::of(kind), Held::of(value), Held::of(trace));
    let text = value.and_then(|exception| Held::of(PyObject_Str(exception.get())));
    let mut size = 0;
    let data = text.as_ref().map_or(std::ptr::null(), |text| PyUnicode_AsUTF8AndSize(text.get(), &mut size));
    if data.is_null() {
        forget_exception();
        return String::new();
    }
    String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), size as usize)).into_owned()
}
