//! How instances of a declared class are made and read: by the places of their fields, else by calls.
use crate::object::{Held, Obj};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{
    PyObject, PyObject_Call, PyObject_GetAttr, PyObject_SetAttr, PyTuple_New, PyTuple_SetItem, PyTypeObject,
    PyType_GenericAlloc, PyType_IsSubtype, Py_TPFLAGS_HAVE_GC, Py_TYPE,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

const WORD: usize = std::mem::size_of::<usize>();

/// The places of a class's fields in its instances, in bytes from the start and in the order of `__struct_fields__`.
///
/// They are found by making an instance of objects that are nowhere else and looking where these stand. `None` unless
/// each is found exactly once, and instances are neither tracked by the garbage collector nor finished by Python code:
/// such a class has to be called.
#[pyfunction]
pub fn probe(class: &Bound<'_, PyType>) -> PyResult<Option<Vec<usize>>> {
    let py = class.py();
    let names: Vec<String> = class.getattr("__struct_fields__")?.extract()?;
    let size: usize = class.getattr("__basicsize__")?.extract()?;
    let flags: std::ffi::c_ulong = class.getattr("__flags__")?.extract()?;
    if flags & Py_TPFLAGS_HAVE_GC != 0 || class.hasattr("__post_init__")? || size % WORD != 0 {
        return Ok(None);
    }
    let plain = py.import("builtins")?.getattr("object")?;
    let marks: Vec<Bound<'_, PyAny>> = names.iter().map(|_| plain.call0()).collect::<PyResult<_>>()?;
    let made = class.call1(PyTuple::new(py, &marks)?)?;
    // SAFETY: an instance has `__basicsize__` bytes, and is not variable in size.
    let words = unsafe { std::slice::from_raw_parts(made.as_ptr().cast::<usize>(), size / WORD) };
    let header = std::mem::size_of::<PyObject>() / WORD;
    let mut offsets = Vec::with_capacity(names.len());
    for mark in &marks {
        let address = mark.as_ptr() as usize;
        let mut places = (header..words.len()).filter(|&place| words[place] == address);
        match (places.next(), places.next()) {
            (Some(place), None) => offsets.push(place * WORD),
            _ => return Ok(None),
        }
    }
    Ok(Some(offsets))
}

/// A class and its fields. A field is named by its place: the offset where instances are allocated, else its number.
pub struct Class {
    class: Py<PyType>,
    names: Vec<Py<PyString>>,
    offsets: Option<Vec<usize>>,
}

/// An instance that is being filled; fields that are left out are null.
pub enum Unfinished {
    Allocated(Held),
    Values(Vec<Option<Held>>),
}

impl Class {
    /// Of a class and its offsets, as `probe` returns them.
    pub fn new(class: &Bound<'_, PyType>, offsets: Option<Vec<usize>>) -> PyResult<Class> {
        let names: Vec<Py<PyString>> = class.getattr("__struct_fields__")?.extract()?;
        let size: usize = class.getattr("__basicsize__")?.extract()?;
        if let Some(known) = &offsets {
            if known.len() != names.len() || known.iter().any(|place| place % WORD != 0 || place + WORD > size) {
                return Err(PyTypeError::new_err(format!("{class} has no such offsets: {known:?}")));
            }
        }
        Ok(Class { class: class.clone().unbind(), names, offsets })
    }

    /// The place of a field. Raises `TypeError`.
    pub fn place(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let found = self.names.iter().position(|known| known.bind(py) == name);
        let number =
            found.ok_or_else(|| PyTypeError::new_err(format!("{} has no field {name}", self.class.bind(py))))?;
        Ok(self.offsets.as_ref().map_or(number, |offsets| offsets[number]))
    }

    fn pointer(&self) -> *mut PyTypeObject {
        self.class.as_ptr().cast()
    }

    /// Whether an object is this class's, or a subclass's.
    #[inline(always)]
    pub unsafe fn is_class_of(&self, object: Obj) -> bool {
        let other = Py_TYPE(object);
        other == self.pointer() || PyType_IsSubtype(other, self.pointer()) != 0
    }

    /// A new instance without values. `None`: an exception is set.
    #[inline(always)]
    pub unsafe fn begin(&self) -> Option<Unfinished> {
        if self.offsets.is_some() {
            Held::of(PyType_GenericAlloc(self.pointer(), 0)).map(Unfinished::Allocated)
        } else {
            Some(Unfinished::Values((0..self.names.len()).map(|_| None).collect()))
        }
    }

    /// The instance, all of whose fields were set. `None`: an exception is set.
    #[inline(always)]
    pub unsafe fn finish(&self, made: Unfinished) -> Option<Held> {
        match made {
            Unfinished::Allocated(object) => Some(object),
            Unfinished::Values(values) => {
                let arguments = Held::of(PyTuple_New(values.len() as isize))?;
                for (index, value) in values.into_iter().enumerate() {
                    PyTuple_SetItem(arguments.get(), index as isize, value?.into_ptr());
                }
                Held::of(PyObject_Call(self.class.as_ptr(), arguments.get(), std::ptr::null_mut()))
            }
        }
    }

    /// A field's value. `None`: it has none, and an exception may be set.
    #[inline(always)]
    pub unsafe fn value(&self, object: Obj, place: usize) -> Option<Held> {
        if self.offsets.is_none() {
            return Held::of(PyObject_GetAttr(object, self.names[place].as_ptr()));
        }
        let found = *slot(object, place);
        if found.is_null() {
            None
        } else {
            Some(Held::new(found))
        }
    }

    /// Gives an instance another value of a field. False: an exception is set.
    #[inline(always)]
    pub unsafe fn store(&self, object: Obj, place: usize, value: Held) -> bool {
        if self.offsets.is_none() {
            return PyObject_SetAttr(object, self.names[place].as_ptr(), value.get()) == 0;
        }
        let before = std::mem::replace(&mut *slot(object, place), value.into_ptr());
        drop(Held::of(before));
        true
    }
}

impl Unfinished {
    /// Stores a field's value; one from before is given back.
    #[inline(always)]
    pub unsafe fn set(&mut self, place: usize, value: Held) {
        match self {
            Unfinished::Allocated(object) => {
                let slot = slot(object.get(), place);
                drop(Held::of(*slot));
                *slot = value.into_ptr();
            }
            Unfinished::Values(values) => values[place] = Some(value),
        }
    }

    #[inline(always)]
    pub unsafe fn is_set(&self, place: usize) -> bool {
        match self {
            Unfinished::Allocated(object) => !(*slot(object.get(), place)).is_null(),
            Unfinished::Values(values) => values[place].is_some(),
        }
    }
}

/// SAFETY: the place is one of the class's offsets, which `Class::new` has checked against the size of instances.
#[inline(always)]
unsafe fn slot(object: Obj, place: usize) -> *mut Obj {
    object.cast::<u8>().add(place).cast()
}
