//! Programs: how the values of a message version follow each other, and which fields they are.
//!
//! `protocol/native.py` describes them as nested tuples, by the layouts that the reference codec reads by.
use crate::class::Class;
use crate::object::Stack;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::cell::Cell;

#[derive(Clone, Copy)]
pub enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    F64,
    Bool,
}

/// How a length is written, and whether it may be null.
#[derive(Clone, Copy)]
pub struct Length {
    pub compact: bool,
    pub nullable: bool,
}

/// One value.
pub enum Op {
    Number(Number),
    Uuid,
    Text(Length),
    Blob(Length),
    Array(Length, Box<Op>),
    Record(Record),
    /// A record that may be null; within tagged fields its marker is a varint.
    NullableRecord(bool, Record),
}

/// A field that is read and written.
pub struct Step {
    pub place: usize,
    pub name: String,
    pub op: Op,
}

/// What a field has where the bytes have nothing of it, new each time where it could be changed.
pub enum Fresh {
    Same(Py<PyAny>),
    List,
    Record(Record),
}

/// A default: how to make it, and what to compare with.
pub struct Default {
    pub fresh: Fresh,
    pub equal: Py<PyAny>,
}

/// A field that the version lacks.
pub struct Lack {
    pub place: usize,
    pub default: Default,
    /// Another value than the default is refused, as it would be lost.
    pub strict: bool,
}

pub struct Tagged {
    pub tag: u32,
    pub step: Step,
    pub default: Default,
}

pub struct Tags {
    pub known: Vec<Tagged>,
    /// The place of the field for tags that the version does not know.
    pub unknown: usize,
}

pub struct Record {
    pub class: Class,
    pub steps: Vec<Step>,
    pub lacks: Vec<Lack>,
    pub tags: Option<Tags>,
}

/// A whole message version.
pub struct Program {
    pub root: Record,
    /// There are arrays in arrays, so that one message may hold very many lists.
    pub nested: bool,
    pub name: Py<PyAny>,
    pub version: Py<PyAny>,
    /// The class `DecodeError`.
    pub error: Py<PyAny>,
    /// Is called with a message that cannot be written; raises.
    pub explain: Py<PyAny>,
    /// The class `Pieces`.
    pub pieces: Py<PyAny>,
    pub no_tags: Py<PyTuple>,
    /// Empty; a decoder takes it and gives it back, so that small messages allocate none.
    pub stack: Cell<Stack>,
}

type Description<'py> = Bound<'py, PyTuple>;

/// The kind of number that a code names.
pub fn number_of(code: &str) -> Option<Number> {
    Some(match code {
        "b" => Number::I8,
        "h" => Number::I16,
        "l" => Number::I32,
        "q" => Number::I64,
        "B" => Number::U8,
        "H" => Number::U16,
        "L" => Number::U32,
        "d" => Number::F64,
        "?" => Number::Bool,
        _ => return None,
    })
}

impl Op {
    fn read(found: &Description<'_>) -> PyResult<Op> {
        let code: String = found.get_item(0)?.extract()?;
        let length = || -> PyResult<Length> {
            Ok(Length { compact: found.get_item(1)?.extract()?, nullable: found.get_item(2)?.extract()? })
        };
        Ok(match code.as_str() {
            "uuid" => Op::Uuid,
            "text" => Op::Text(length()?),
            "blob" => Op::Blob(length()?),
            "array" => Op::Array(length()?, Box::new(Op::read(found.get_item(3)?.cast()?)?)),
            "record" => Op::Record(Record::read(found.get_item(1)?.cast()?)?),
            "nullable record" => {
                Op::NullableRecord(found.get_item(1)?.extract()?, Record::read(found.get_item(2)?.cast()?)?)
            }
            other => match number_of(other) {
                Some(kind) => Op::Number(kind),
                None => return Err(PyValueError::new_err(format!("there is no operation {code:?}"))),
            },
        })
    }
}

impl Default {
    /// Of `(object,)`, `(list, "list")` or `(instance, record)`.
    fn read(found: &Description<'_>) -> PyResult<Default> {
        let equal = found.get_item(0)?;
        let fresh = if found.len() == 1 {
            Fresh::Same(equal.clone().unbind())
        } else if let Ok(record) = found.get_item(1)?.cast::<PyTuple>() {
            Fresh::Record(Record::read(record)?)
        } else {
            Fresh::List
        };
        Ok(Default { fresh, equal: equal.unbind() })
    }
}

impl Record {
    /// Of `(class, offsets, steps, lacks, tags)`:
    ///
    /// - steps are `(name, operation)`, lacks are `(name, strict, default)`,
    /// - tags are `None`, or of `(tag, name, operation, default)` for each that is known.
    fn read(found: &Description<'_>) -> PyResult<Record> {
        type Step_<'py> = (String, Description<'py>);
        type Lack_<'py> = (String, bool, Description<'py>);
        type Tagged_<'py> = (u32, String, Description<'py>, Description<'py>);
        type Whole<'py> =
            (Bound<'py, PyType>, Option<Vec<usize>>, Vec<Step_<'py>>, Vec<Lack_<'py>>, Option<Vec<Tagged_<'py>>>);
        let py = found.py();
        let (class, offsets, steps, lacks, tags): Whole<'_> = found.extract()?;
        let class = Class::new(&class, offsets)?;
        let step = |name: String, op: &Description<'_>| -> PyResult<Step> {
            Ok(Step { place: class.place(py, &name)?, name, op: Op::read(op)? })
        };
        let steps = steps.into_iter().map(|(name, op)| step(name, &op)).collect::<PyResult<_>>()?;
        let lacks = lacks
            .into_iter()
            .map(|(name, strict, default)| {
                Ok(Lack { place: class.place(py, &name)?, strict, default: Default::read(&default)? })
            })
            .collect::<PyResult<_>>()?;
        let tags = match tags {
            None => None,
            Some(known) => Some(Tags {
                unknown: class.place(py, "unknown_tagged_fields")?,
                known: known
                    .into_iter()
                    .map(|(tag, name, op, default)| {
                        Ok(Tagged { tag, step: step(name, &op)?, default: Default::read(&default)? })
                    })
                    .collect::<PyResult<_>>()?,
            }),
        };
        Ok(Record { class, steps, lacks, tags })
    }
}

impl Program {
    /// Of a record's description and the arguments of `compile`.
    pub fn read(
        record: &Description<'_>,
        nested: bool,
        (name, version): (Py<PyAny>, Py<PyAny>),
        (error, explain, pieces): (Py<PyAny>, Py<PyAny>, Py<PyAny>),
    ) -> PyResult<Program> {
        let no_tags = PyTuple::empty(record.py()).unbind();
        let root = Record::read(record)?;
        Ok(Program { root, nested, name, version, error, explain, pieces, no_tags, stack: Cell::default() })
    }
}
