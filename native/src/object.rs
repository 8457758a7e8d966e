//! References to Python's objects, counted. All of it needs the interpreter's lock, which every entry holds.
use pyo3::ffi::{
    PyByteArray_AsString, PyByteArray_Resize, PyByteArray_Size, PyBytes_AsString, PyBytes_Size, PyErr_Clear, PyObject,
    Py_DECREF, Py_INCREF, Py_None,
};
use pyo3::prelude::*;

pub type Obj = *mut PyObject;

/// A reference of our own, given back when dropped.
pub struct Held(Obj);

impl Held {
    /// Takes over a reference; `None` for null, which is what Python's functions return with an exception set.
    #[inline(always)]
    pub fn of(object: Obj) -> Option<Held> {
        if object.is_null() {
            None
        } else {
            Some(Held(object))
        }
    }

    /// A further reference to a living object.
    #[inline(always)]
    pub unsafe fn new(object: Obj) -> Held {
        Py_INCREF(object);
        Held(object)
    }

    pub unsafe fn none() -> Held {
        Held::new(Py_None())
    }

    #[inline(always)]
    pub fn get(&self) -> Obj {
        self.0
    }

    /// Hands the reference over to whoever takes the pointer.
    #[inline(always)]
    pub fn into_ptr(self) -> Obj {
        let object = self.0;
        std::mem::forget(self);
        object
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        unsafe { Py_DECREF(self.0) }
    }
}

/// References in the order in which they came; what is left in it is given back.
#[derive(Default)]
pub struct Stack(Vec<Held>);

impl Stack {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    pub fn push(&mut self, object: Held) {
        self.0.push(object);
    }

    /// True for an empty one of little memory.
    pub fn is_small(&self) -> bool {
        self.0.is_empty() && self.0.capacity() <= 64
    }

    /// Takes off all from a length on.
    pub fn drain_from(&mut self, length: usize) -> impl Iterator<Item = Held> + '_ {
        self.0.drain(length..)
    }
}

/// Forgets the exception that a function of Python's has set.
pub unsafe fn forget_exception() {
    PyErr_Clear();
}

/// The bytes of a `bytes` object, for as long as it is held.
#[inline(always)]
pub unsafe fn contents(value: &Held) -> &[u8] {
    std::slice::from_raw_parts(PyBytes_AsString(value.get()).cast(), PyBytes_Size(value.get()) as usize)
}

/// Adds bytes at the end of a bytearray.
pub fn append(py: Python<'_>, held: Obj, bytes: &[u8]) -> PyResult<()> {
    // SAFETY: the bytes are there once they were resized, and nothing else runs meanwhile.
    unsafe {
        let before = PyByteArray_Size(held);
        if PyByteArray_Resize(held, before + bytes.len() as isize) < 0 {
            return Err(PyErr::fetch(py));
        }
        let to = PyByteArray_AsString(held).cast::<u8>().add(before as usize);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
    Ok(())
}

/// Numbers as they lie in memory, which is how Python reads them.
pub fn as_bytes(numbers: &[i64]) -> &[u8] {
    // SAFETY: any byte is a u8.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}
