//! References to Python's objects, counted. All of it needs the interpreter's lock, which every entry holds.
use pyo3::ffi::{PyBytes_AsString, PyBytes_Size, PyErr_Clear, PyObject, Py_DECREF, Py_INCREF, Py_None};

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
