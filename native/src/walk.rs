//! Walks over messages: each accepts the bytes that `decode.rs` accepts, and takes out the few values that are wanted.
//!
//! No object is made, so a walk needs no interpreter. What it refuses is left to the decoder, which says why.
use crate::decode::{Cursor, FEW_TAGS, MAX_STRING_BYTES};
use crate::program::{number_of, Length, Number};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashSet;

/// A value; of texts and bytes where they stand in the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    Null,
    Int(i64),
    Part(usize, usize),
    Uuid([u8; 16]),
}

impl Value {
    /// The bytes of a text or of bytes; none of others.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        match self {
            Value::Part(start, end) => &data[*start..*end],
            _ => &[],
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A field's default.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
        if let Ok(value) = object.extract::<i64>() {
            return Ok(Value::Int(value));
        }
        if let Ok(data) = object.extract::<[u8; 16]>() {
            return Ok(Value::Uuid(data));
        }
        Ok(if object.is_none() { Value::Null } else { Value::Part(0, 0) })
    }
}

/// A value on the way; `usize` is the slot that takes it.
enum Skip {
    /// Neighbours of fixed width that nobody wants.
    Run(usize),
    Number(Number, usize),
    Uuid(usize),
    Text(Length, Option<usize>),
    Blob(Length, Option<usize>),
    /// The last is the number of its level, if its items are wanted.
    Array(Length, Box<Skip>, Option<usize>),
    Record(Record),
    NullableRecord(bool, Record),
}

struct Record {
    defaults: Vec<(usize, Value)>,
    steps: Vec<Skip>,
    tags: Option<Vec<(u32, Skip)>>,
}

/// The walk over one message version.
#[pyclass(frozen)]
pub struct Walk {
    root: Record,
    slots: usize,
    levels: usize,
    /// The level that the message itself is the only item of.
    whole: Option<usize>,
}

/// What a walk has found: the values of the message itself, and those of each item by level, one item after the other.
///
/// An item has all slots: those of the message and of the items around it, as they were when it ended.
#[derive(Default)]
pub struct Found {
    pub slots: Vec<Value>,
    pub items: Vec<Vec<Value>>,
}

impl Found {
    /// The items of a level.
    pub fn of(&self, level: usize) -> std::slice::ChunksExact<'_, Value> {
        self.items[level].chunks_exact(self.slots.len().max(1))
    }
}

#[pymethods]
impl Walk {
    /// Of a record's description as `program.rs` has it, the paths of wanted fields and of arrays whose items count.
    ///
    /// A path is `topics.partitions.index`, of the message itself empty; a slot has its place in `wanted`. A field that the version does not have
    /// in any way stays null.
    #[new]
    fn read(record: &Bound<'_, PyTuple>, wanted: Vec<String>, levels: Vec<String>) -> PyResult<Walk> {
        let root = Reader { wanted: &wanted, levels: &levels }.record(record, "")?;
        let whole = levels.iter().position(String::is_empty);
        Ok(Walk { root, slots: wanted.len(), levels: levels.len(), whole })
    }
}

impl Walk {
    /// How many slots and levels there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.slots, self.levels)
    }

    /// The position after the message that begins at `start`; `None` if it is none.
    pub fn over(&self, data: &[u8], start: usize, found: &mut Found) -> Option<usize> {
        if start > data.len() {
            return None;
        }
        found.slots.clear();
        found.slots.resize(self.slots, Value::Null);
        found.items.resize_with(self.levels, Vec::new);
        found.items.iter_mut().for_each(Vec::clear);
        let mut cursor = Cursor { data, at: start };
        self.root.over(&mut cursor, found)?;
        if let Some(level) = self.whole {
            found.items[level].extend_from_slice(&found.slots);
        }
        Some(cursor.at)
    }
}

impl Record {
    fn over(&self, cursor: &mut Cursor<'_>, found: &mut Found) -> Option<()> {
        for (slot, value) in &self.defaults {
            found.slots[*slot] = *value;
        }
        for step in &self.steps {
            step.over(cursor, found)?;
        }
        match &self.tags {
            Some(_) if cursor.data.get(cursor.at) == Some(&0) => cursor.at += 1,
            Some(known) => tagged(known, cursor, found)?,
            None => {}
        }
        Some(())
    }
}

#[inline(never)]
fn tagged(known: &[(u32, Skip)], cursor: &mut Cursor<'_>, found: &mut Found) -> Option<()> {
    let (mut few, mut many) = (Vec::new(), HashSet::new());
    for _ in 0..cursor.uvarint().ok()? {
        let tag = cursor.uvarint().ok()?;
        if few.contains(&tag) || many.contains(&tag) {
            return None;
        }
        if few.len() < FEW_TAGS {
            few.push(tag);
        } else {
            many.insert(tag);
        }
        let length = cursor.uvarint().ok()? as usize;
        if length > cursor.left() {
            return None;
        }
        let end = cursor.at + length;
        match known.iter().find(|(number, _)| *number == tag) {
            Some((_, step)) => step.over(cursor, found)?,
            None => cursor.at = end,
        }
        if cursor.at != end {
            return None;
        }
    }
    Some(())
}

impl Skip {
    fn over(&self, cursor: &mut Cursor<'_>, found: &mut Found) -> Option<()> {
        match self {
            Skip::Run(width) => {
                cursor.take(*width).ok()?;
            }
            Skip::Number(kind, slot) => found.slots[*slot] = Value::Int(number(*kind, cursor)?),
            Skip::Uuid(slot) => found.slots[*slot] = Value::Uuid(cursor.fixed().ok()?),
            Skip::Text(length, slot) => {
                let value = part(cursor, *length, true)?;
                if let Value::Part(start, end) = value {
                    if end - start > MAX_STRING_BYTES || std::str::from_utf8(&cursor.data[start..end]).is_err() {
                        return None;
                    }
                }
                keep(value, *slot, found);
            }
            Skip::Blob(length, slot) => keep(part(cursor, *length, false)?, *slot, found),
            Skip::Array(length, item, level) => {
                let Some(count) = cursor.length(*length, false).ok()? else {
                    return Some(());
                };
                if let Skip::Run(width) = **item {
                    cursor.take(width.checked_mul(count)?).ok()?;
                    return Some(());
                }
                for _ in 0..count {
                    item.over(cursor, found)?;
                    if let Some(level) = level {
                        found.items[*level].extend_from_slice(&found.slots);
                    }
                }
            }
            Skip::Record(record) => record.over(cursor, found)?,
            Skip::NullableRecord(compact, record) => {
                let is_null =
                    if *compact { cursor.uvarint().ok()? == 0 } else { i8::from_be_bytes(cursor.fixed().ok()?) < 0 };
                if !is_null {
                    record.over(cursor, found)?;
                }
            }
        }
        Some(())
    }

    fn width(&self) -> Option<usize> {
        match self {
            Skip::Run(width) => Some(*width),
            _ => None,
        }
    }
}

fn keep(value: Value, slot: Option<usize>, found: &mut Found) {
    if let Some(slot) = slot {
        found.slots[slot] = value;
    }
}

#[inline(always)]
fn part(cursor: &mut Cursor<'_>, length: Length, is_text: bool) -> Option<Value> {
    let Some(count) = cursor.length(length, is_text).ok()? else {
        return Some(Value::Null);
    };
    let start = cursor.at;
    cursor.take(count).ok()?;
    Some(Value::Part(start, cursor.at))
}

#[inline(always)]
fn number(kind: Number, cursor: &mut Cursor<'_>) -> Option<i64> {
    Some(match kind {
        Number::I8 => i64::from(i8::from_be_bytes(cursor.fixed().ok()?)),
        Number::I16 => i64::from(i16::from_be_bytes(cursor.fixed().ok()?)),
        Number::I32 => i64::from(i32::from_be_bytes(cursor.fixed().ok()?)),
        Number::I64 | Number::F64 => i64::from_be_bytes(cursor.fixed().ok()?),
        Number::U8 => i64::from(cursor.fixed::<1>().ok()?[0]),
        Number::U16 => i64::from(u16::from_be_bytes(cursor.fixed().ok()?)),
        Number::U32 => i64::from(u32::from_be_bytes(cursor.fixed().ok()?)),
        Number::Bool => i64::from(cursor.fixed::<1>().ok()?[0] != 0),
    })
}

fn width(kind: Number) -> usize {
    match kind {
        Number::I8 | Number::U8 | Number::Bool => 1,
        Number::I16 | Number::U16 => 2,
        Number::I32 | Number::U32 => 4,
        Number::I64 | Number::F64 => 8,
    }
}

/// Reads descriptions for a walk.
struct Reader<'a> {
    wanted: &'a [String],
    levels: &'a [String],
}

impl Reader<'_> {
    fn slot(&self, path: &str) -> Option<usize> {
        self.wanted.iter().position(|one| one == path)
    }

    /// The slots of the fields that are in a record, with their names in there.
    fn slots_in<'s>(&'s self, path: &'s str) -> impl Iterator<Item = (usize, &'s str)> + 's {
        let inside = self.wanted.iter().enumerate();
        inside.filter_map(move |(slot, one)| Some((slot, one.strip_prefix(path)?.strip_prefix('.')?)))
    }

    fn op(&self, found: &Bound<'_, PyTuple>, path: &str) -> PyResult<Skip> {
        let code: String = found.get_item(0)?.extract()?;
        let length = || -> PyResult<Length> {
            Ok(Length { compact: found.get_item(1)?.extract()?, nullable: found.get_item(2)?.extract()? })
        };
        let slot = self.slot(path);
        Ok(match code.as_str() {
            "uuid" => slot.map_or(Skip::Run(16), Skip::Uuid),
            "text" => Skip::Text(length()?, slot),
            "blob" => Skip::Blob(length()?, slot),
            "array" => {
                let level = self.levels.iter().position(|one| one == path);
                Skip::Array(length()?, Box::new(self.op(found.get_item(3)?.cast()?, path)?), level)
            }
            "record" => Skip::Record(self.record(found.get_item(1)?.cast()?, path)?),
            "nullable record" => {
                Skip::NullableRecord(found.get_item(1)?.extract()?, self.record(found.get_item(2)?.cast()?, path)?)
            }
            other => {
                let kind = number_of(other)
                    .ok_or_else(|| PyValueError::new_err(format!("there is no operation {other:?}")))?;
                slot.map_or(Skip::Run(width(kind)), |slot| Skip::Number(kind, slot))
            }
        })
    }

    fn record(&self, found: &Bound<'_, PyTuple>, path: &str) -> PyResult<Record> {
        let (mut steps, mut defaults): (Vec<Skip>, Vec<(usize, Value)>) = (Vec::new(), Vec::new());
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for step in found.get_item(2)?.try_iter()? {
            let (name, op): (String, Bound<'_, PyTuple>) = step?.extract()?;
            let next = self.op(&op, &below(&name))?;
            match (steps.last_mut(), next.width()) {
                (Some(Skip::Run(before)), Some(width)) => *before += width,
                _ => steps.push(next),
            }
        }
        for lack in found.get_item(3)?.try_iter()? {
            let (name, _, default): (String, bool, Bound<'_, PyTuple>) = lack?.extract()?;
            self.default(&below(&name), &default.get_item(0)?, &mut defaults)?;
        }
        let mut tags = None;
        if !found.get_item(4)?.is_none() {
            let known = tags.insert(Vec::new());
            for tagged in found.get_item(4)?.try_iter()? {
                type Tagged<'py> = (u32, String, Bound<'py, PyTuple>, Bound<'py, PyTuple>);
                let (tag, name, op, default): Tagged<'_> = tagged?.extract()?;
                self.default(&below(&name), &default.get_item(0)?, &mut defaults)?;
                known.push((tag, self.op(&op, &below(&name))?));
            }
        }
        Ok(Record { defaults, steps, tags })
    }

    /// The defaults of a field that may be missing, and of those in it.
    fn default(&self, path: &str, value: &Bound<'_, PyAny>, defaults: &mut Vec<(usize, Value)>) -> PyResult<()> {
        if let Some(slot) = self.slot(path) {
            defaults.push((slot, Value::of(value)?));
        }
        for (slot, inside) in self.slots_in(path) {
            let mut value = value.clone();
            for name in inside.split('.') {
                if value.is_none() || !value.hasattr(name)? {
                    value = value.py().None().into_bound(value.py());
                    break;
                }
                value = value.getattr(name)?;
            }
            defaults.push((slot, Value::of(&value)?));
        }
        Ok(())
    }
}
