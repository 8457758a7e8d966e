//! The functions that Python calls, one program behind each. None lets a panic through.
use crate::decode::{Cause, Cursor, Decoder, Fault};
use crate::encode::Encoder;
use crate::object::{contents, forget_exception, Held, Obj};
use crate::program::Program;
use pyo3::ffi::{
    PyBUF_SIMPLE, PyBuffer_Release, PyBytes_Check, PyCFunction_NewEx, PyCapsule_GetPointer, PyCapsule_New, PyDict_New,
    PyDict_SetItem, PyErr_Occurred, PyErr_SetObject, PyErr_SetString, PyExc_RuntimeError, PyExc_TypeError,
    PyExc_ValueError, PyGC_Disable, PyGC_Enable, PyGC_IsEnabled, PyLong_AsSsize_t, PyMemoryView_FromObject,
    PyMethodDef, PyMethodDefPointer, PyObject_Call, PyObject_CallFunctionObjArgs, PyObject_GetBuffer, PyTuple_GetItem,
    PyTuple_New, PyTuple_SetItem, PyTuple_Size, PyUnicode_Check, PyUnicode_CompareWithASCIIString, Py_buffer,
    Py_ssize_t, METH_FASTCALL, METH_KEYWORDS, METH_O,
};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;
use std::ffi::CStr;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};

/// From how many bytes of a message on a number is one object wherever it is.
const INTERN_FROM: usize = 1 << 20;
/// From how many bytes on the garbage collector waits until a message of many lists is read.
const PAUSE_FROM: usize = 4096;

unsafe extern "C" fn drop_program(capsule: Obj) {
    drop(Box::from_raw(PyCapsule_GetPointer(capsule, null()).cast::<Program>()));
}

unsafe fn program_of<'a>(capsule: Obj) -> &'a Program {
    &*PyCapsule_GetPointer(capsule, null()).cast::<Program>()
}

const fn fast(name: &CStr, function: unsafe extern "C" fn(Obj, *mut Obj, Py_ssize_t) -> Obj) -> PyMethodDef {
    PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFast: function },
        ml_flags: METH_FASTCALL,
        ml_doc: null(),
    }
}

const fn of_one(name: &CStr, function: unsafe extern "C" fn(Obj, Obj) -> Obj) -> PyMethodDef {
    PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunction: function },
        ml_flags: METH_O,
        ml_doc: null(),
    }
}

/// Python keeps pointers to these, and changes none.
static mut FUNCTIONS: [PyMethodDef; 5] = [
    fast(c"decode", decode),
    fast(c"decode_counted", decode_counted),
    fast(c"decode_with_views", decode_with_views),
    of_one(c"encode", encode),
    of_one(c"encode_in_pieces", encode_in_pieces),
];

/// `(record, nested, (name, version), (DecodeError, explain, Pieces))` to five functions:
/// `decode(data, start=0)`, `decode_counted(data, start, limit)` and `decode_with_views(data, start=0)` return a message
/// and the position after it, `encode(message)` returns `bytes` and `encode_in_pieces(message)` a list of them.
#[pyfunction]
pub fn compile<'py>(
    record: &Bound<'py, PyTuple>,
    nested: bool,
    names: (Py<PyAny>, Py<PyAny>),
    classes: (Py<PyAny>, Py<PyAny>, Py<PyAny>),
) -> PyResult<Bound<'py, PyList>> {
    let py = record.py();
    let program = Box::new(Program::read(record, nested, names, classes)?);
    let functions = PyList::empty(py);
    // SAFETY: the capsule owns the program from here on, and lives as long as one of the functions.
    unsafe {
        let capsule = PyCapsule_New(Box::into_raw(program).cast(), null(), Some(drop_program));
        let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
        let first = (&raw mut FUNCTIONS).cast::<PyMethodDef>();
        for index in 0..5 {
            let function = PyCFunction_NewEx(first.add(index), capsule.as_ptr(), null_mut());
            functions.append(Bound::from_owned_ptr_or_err(py, function)?)?;
        }
    }
    Ok(functions)
}

static mut BY_API: PyMethodDef = PyMethodDef {
    ml_name: c"decode".as_ptr(),
    ml_meth: PyMethodDefPointer { PyCFunctionFastWithKeywords: decode_by_api },
    ml_flags: METH_FASTCALL | METH_KEYWORDS,
    ml_doc: c"decode(api_key, kind, version, data, *, trailing='error')\n--\n\nRead the body of a request or response."
        .as_ptr(),
};

/// The programs of requests and of responses, by API key and version.
struct ByApi {
    /// `(api_key, kind, version)` to a capsule; raises where there is none.
    find: Py<PyAny>,
    /// Python's `decode`, with the same arguments.
    other: Py<PyAny>,
    programs: [Vec<Vec<Option<Py<PyAny>>>>; 2],
}

const KINDS: [&CStr; 2] = [c"request", c"response"];

/// `(find, other)` to `decode(api_key, kind, version, data, *, trailing="error")`, which returns the message alone.
///
/// `find(api_key, kind, version)` returns a capsule, and is called once for each. Arguments of another kind, bytes left
/// over and all that is refused are `other`'s, which is called with the same arguments.
#[pyfunction]
pub fn by_api(py: Python<'_>, find: Py<PyAny>, other: Py<PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let table = Box::new(ByApi { find, other, programs: Default::default() });
    // SAFETY: the capsule owns the table and the function the capsule; both live as long as the process.
    unsafe {
        let capsule = PyCapsule_New(Box::into_raw(table).cast(), null(), None);
        let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
        Bound::from_owned_ptr_or_err(py, PyCFunction_NewEx(&raw mut BY_API, capsule.as_ptr(), null_mut()))
    }
}

unsafe extern "C" fn decode_by_api(capsule: Obj, arguments: *const Obj, count: Py_ssize_t, names: Obj) -> Obj {
    guarded(|| {
        let table = PyCapsule_GetPointer(capsule, null()).cast::<ByApi>();
        if names.is_null() && count == 4 {
            if let Some(message) = whole(table, &*arguments.cast()) {
                return Some(message);
            }
            forget_exception();
        }
        // Python's function takes the same arguments, and finds the words of whatever is wrong.
        let given = count as usize + if names.is_null() { 0 } else { PyTuple_Size(names) as usize };
        let positional = Held::of(PyTuple_New(count))?;
        let named = Held::of(PyDict_New())?;
        for (index, &value) in std::slice::from_raw_parts(arguments, given).iter().enumerate() {
            if index < count as usize {
                PyTuple_SetItem(positional.get(), index as isize, Held::new(value).into_ptr());
            } else if PyDict_SetItem(named.get(), PyTuple_GetItem(names, index as isize - count), value) < 0 {
                return None;
            }
        }
        Held::of(PyObject_Call((*table).other.as_ptr(), positional.get(), named.get()))
    })
}

/// The message that takes all of the data. `None`: there is no such program or message; an exception may be set.
#[inline(always)]
unsafe fn whole(table: *mut ByApi, [key, kind, version, data]: &[Obj; 4]) -> Option<Held> {
    if PyBytes_Check(*data) == 0 || PyUnicode_Check(*kind) == 0 {
        return None;
    }
    let side = KINDS.iter().position(|name| PyUnicode_CompareWithASCIIString(*kind, name.as_ptr()) == 0)?;
    let key_number = usize::try_from(PyLong_AsSsize_t(*key)).ok()?;
    let version_number = usize::try_from(PyLong_AsSsize_t(*version)).ok()?;
    let known = (&(*table).programs)[side].get(key_number).and_then(|versions| versions.get(version_number)?.as_ref());
    let program = match known {
        Some(capsule) => program_of(capsule.as_ptr()),
        None => find(table, side, [key_number, version_number], [*key, *kind, *version])?,
    };
    let data = Held::new(*data);
    let data = contents(&data);
    let mut decoder = decoder(program, data, 0);
    let pause = Pause::begin(program.nested && data.len() > PAUSE_FROM);
    let message = decoder.message().ok()?;
    drop(pause);
    if decoder.cursor.at == data.len() {
        Some(message)
    } else {
        None
    }
}

/// The program of an API, which from now on is in the table.
#[cold]
#[inline(never)]
unsafe fn find<'a>(table: *mut ByApi, side: usize, [key, version]: [usize; 2], names: [Obj; 3]) -> Option<&'a Program> {
    let end = null_mut::<pyo3::ffi::PyObject>();
    let find = (*table).find.as_ptr();
    let capsule = Held::of(PyObject_CallFunctionObjArgs(find, names[0], names[1], names[2], end))?;
    let versions = &mut (&mut (*table).programs)[side];
    versions.resize_with(versions.len().max(key + 1), Vec::new);
    let programs = &mut versions[key];
    programs.resize_with(programs.len().max(version + 1), || None);
    let capsule = Bound::from_owned_ptr(Python::assume_attached(), capsule.into_ptr()).unbind();
    Some(program_of(programs[version].insert(capsule).as_ptr()))
}

/// Runs what an entry does. A panic becomes a `RuntimeError`.
unsafe fn guarded(run: impl FnOnce() -> Option<Held>) -> Obj {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(held)) => held.into_ptr(),
        Ok(None) => null_mut(),
        Err(_) => {
            PyErr_SetString(PyExc_RuntimeError, c"kafka_rack_native: a fault of its own; please report it".as_ptr());
            null_mut()
        }
    }
}

unsafe extern "C" fn decode(capsule: Obj, arguments: *mut Obj, count: Py_ssize_t) -> Obj {
    guarded(|| read(program_of(capsule), std::slice::from_raw_parts(arguments, count as usize), Form::Copies))
}

unsafe extern "C" fn decode_counted(capsule: Obj, arguments: *mut Obj, count: Py_ssize_t) -> Obj {
    guarded(|| read(program_of(capsule), std::slice::from_raw_parts(arguments, count as usize), Form::Counted))
}

unsafe extern "C" fn decode_with_views(capsule: Obj, arguments: *mut Obj, count: Py_ssize_t) -> Obj {
    guarded(|| read(program_of(capsule), std::slice::from_raw_parts(arguments, count as usize), Form::Views))
}

unsafe extern "C" fn encode(capsule: Obj, message: Obj) -> Obj {
    guarded(|| write(program_of(capsule), message, false))
}

unsafe extern "C" fn encode_in_pieces(capsule: Obj, message: Obj) -> Obj {
    guarded(|| write(program_of(capsule), message, true))
}

#[derive(PartialEq, Clone, Copy)]
enum Form {
    Copies,
    Counted,
    Views,
}

/// The bytes of an object: of a `bytes` object its own, of others a buffer's, which is released when dropped.
enum Buffer {
    Bytes(Held),
    Other(Py_buffer),
}

impl Buffer {
    #[inline(always)]
    unsafe fn of(object: Obj) -> Option<Buffer> {
        if PyBytes_Check(object) != 0 {
            return Some(Buffer::Bytes(Held::new(object)));
        }
        let mut view: Py_buffer = std::mem::zeroed();
        if PyObject_GetBuffer(object, &mut view, PyBUF_SIMPLE) < 0 {
            return None;
        }
        Some(Buffer::Other(view))
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Bytes(object) => unsafe { contents(object) },
            Buffer::Other(view) if view.len == 0 => &[],
            Buffer::Other(view) => unsafe { std::slice::from_raw_parts(view.buf.cast(), view.len as usize) },
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Buffer::Other(view) = self {
            unsafe { PyBuffer_Release(view) };
        }
    }
}

/// A number that is not negative. `None`: an exception is set.
unsafe fn position(object: Obj, name: &CStr) -> Option<usize> {
    let given = PyLong_AsSsize_t(object);
    if given < 0 && PyErr_Occurred().is_null() {
        PyErr_SetString(PyExc_ValueError, name.as_ptr());
    }
    usize::try_from(given).ok()
}

/// The collector stands still while this is there.
struct Pause(bool);

impl Pause {
    unsafe fn begin(wanted: bool) -> Pause {
        let paused = wanted && PyGC_IsEnabled() != 0;
        if paused {
            PyGC_Disable();
        }
        Pause(paused)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if self.0 {
            unsafe { PyGC_Enable() };
        }
    }
}

/// A decoder over `data` from a position on.
unsafe fn decoder<'a>(program: &'a Program, data: &'a [u8], at: usize) -> Decoder<'a> {
    Decoder {
        program,
        cursor: Cursor { data, at },
        view: None,
        items: usize::MAX,
        interned: if data.len() > INTERN_FROM { Some(HashMap::new()) } else { None },
        stack: program.stack.take(),
    }
}

unsafe fn read(program: &Program, arguments: &[Obj], form: Form) -> Option<Held> {
    let most = if form == Form::Counted { 3 } else { 2 };
    let least = if form == Form::Counted { 3 } else { 1 };
    if arguments.len() < least || arguments.len() > most {
        PyErr_SetString(PyExc_TypeError, c"expected data, and from where on to read".as_ptr());
        return None;
    }
    let buffer = Buffer::of(arguments[0])?;
    let data = buffer.bytes();
    let start = match arguments.get(1) {
        Some(&given) => position(given, c"start: expected a position in the data")?,
        None => 0,
    };
    let limit = match arguments.get(2) {
        Some(&given) => position(given, c"limit: expected how many elements arrays may have")?,
        None => usize::MAX,
    };
    let view = match form {
        Form::Views => Some(Held::of(PyMemoryView_FromObject(arguments[0]))?),
        _ => None,
    };
    let mut decoder = decoder(program, data, start.min(data.len()));
    (decoder.view, decoder.items) = (view, limit);
    let pause = Pause::begin(program.nested && data.len() > PAUSE_FROM);
    let found = decoder.message();
    let pair = Held::of(PyTuple_New(2))?; // before the collector may set out again
    drop(pause);
    match found {
        Ok(message) => {
            let end = Held::of(pyo3::ffi::PyLong_FromSize_t(decoder.cursor.at))?;
            PyTuple_SetItem(pair.get(), 0, message.into_ptr());
            PyTuple_SetItem(pair.get(), 1, end.into_ptr());
            Some(pair)
        }
        Err(fault) => {
            raise(program, &fault, start, limit);
            None
        }
    }
}

/// Sets the `DecodeError` of a fault.
#[cold]
#[inline(never)]
unsafe fn raise(program: &Program, fault: &Fault, start: usize, limit: usize) {
    let (reason, offset, path) = match &fault.cause {
        Cause::Python => return,
        Cause::Words(words) => (words.clone(), fault.offset as i64 - start as i64, fault.path()),
        Cause::TooMany => {
            let words = format!("its arrays have more than {limit} elements in all, the limit of max.request.items");
            (words, fault.offset as i64 - start as i64, fault.path())
        }
    };
    Python::attach(|py| {
        let arguments = (reason, program.name.bind(py), program.version.bind(py), offset, path);
        match arguments.into_pyobject(py) {
            Ok(tuple) => PyErr_SetObject(program.error.as_ptr(), tuple.as_ptr()),
            Err(error) => error.restore(py),
        }
    });
}

unsafe fn write(program: &Program, message: Obj, in_pieces: bool) -> Option<Held> {
    let mut encoder = Encoder::new(program, in_pieces);
    if encoder.message(message).is_ok() {
        return if in_pieces { encoder.pieces() } else { encoder.whole() };
    }
    forget_exception();
    Held::of(PyObject_CallFunctionObjArgs(program.explain.as_ptr(), message, null_mut::<pyo3::ffi::PyObject>()))
}
