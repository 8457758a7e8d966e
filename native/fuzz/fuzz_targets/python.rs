//! Python in a fuzz target, with this very library as `kafka_rack_native`. `PYTHONPATH` has the project and its packages.
use kafka_rack_native::kafka_rack_native;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods};
use std::ffi::CString;
use std::sync::OnceLock;

/// What programs that read captures share: a request's parts, and `found`, which compares both readers.
#[allow(dead_code, reason = "the other targets read no captures")]
pub const READERS: &str = r#"
def request(pending):
    return pending and (pending.frame, pending.ts, pending.correlation_id, pending.data, pending.kind.head)

def parts(frame):
    return (
        *(frame.index, frame.ts, frame.connection.number, frame.is_request, frame.data, request(frame.asked)),
        *(frame.correlation_id, frame.error, frame.offset, [*map(request, frame.passed_over)]),
        *(frame.connection.client, frame.connection.broker, frame.connection.rack),
    )

def found(text):
    native, python = (outcome(text, is_native) for is_native in (True, False))
    if native != python:
        raise AssertionError(f"{text!r}: {native} and {python}")
"#;

/// Calls `found` of a program; what it raises ends the process.
#[allow(dead_code, reason = "walk looks at what it finds itself")]
pub fn check(program: &str, arguments: impl for<'py> PyCallArgs<'py>) {
    let found = found(program);
    Python::attach(|py| {
        if let Err(error) = found.bind(py).call1(arguments) {
            error.print(py);
            std::process::abort();
        }
    });
}

/// The value of `found` after a program was run, once in a process.
pub fn found(program: &str) -> &'static Py<PyAny> {
    static FOUND: OnceLock<Py<PyAny>> = OnceLock::new();
    FOUND.get_or_init(|| {
        pyo3::append_to_inittab!(kafka_rack_native);
        Python::initialize();
        Python::attach(|py| {
            let names = PyDict::new(py);
            let code = CString::new(program).expect("no zero byte");
            py.run(&code, Some(&names), None).unwrap_or_else(|error| {
                error.print(py);
                std::process::exit(1);
            });
            names.get_item("found").expect("a dictionary").expect("found is set").unbind()
        })
    })
}
