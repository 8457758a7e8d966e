//! Python in a fuzz target, with this very library as `kafka_rack_native`. `PYTHONPATH` has the project and its packages.
use kafka_rack_native::kafka_rack_native;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods};
use std::ffi::CString;
use std::sync::OnceLock;

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
