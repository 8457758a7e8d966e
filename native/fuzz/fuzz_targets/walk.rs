//! Any bytes as any message: a walk to all its numbers and texts ends where the decoder ends, or refuses with it.
#![no_main]
use kafka_rack_native::walk::{Found, Value, Walk};
use libfuzzer_sys::fuzz_target;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
mod python;

const PROGRAM: &str = r#"
from protocol import registry
from protocol.backends import core
from protocol.codec import codec
from protocol.errors import DecodeError
from protocol.layouts import layout
from protocol.native import record
import functools

classes = [
    registry.message_class(key, kind) for key in sorted(registry.APIS) for kind in ("request", "response")
]
versions = [(one, version) for one in classes for version in one.valid_versions]

def paths(described, before=""):
    fields, arrays = [], []
    for name, operation in [(one[0], one[1]) for one in described[2]] + [(one[1], one[2]) for one in described[4] or ()]:
        path = before + name
        if operation[0] == "array":
            arrays.append(path)
            operation = operation[3]
        inside = operation[1] if operation[0] == "record" else operation[2] if operation[0] == "nullable record" else None
        if inside is None:
            fields.append(path)
        else:
            more = paths(inside, path + ".")
            fields += more[0]
            arrays += more[1]
    return fields, arrays

@functools.cache
def found(number):
    message, version = versions[number % len(versions)]
    described = record(layout(message, version))
    decode = codec(message, version).decode
    def end(data):
        try:
            return decode(data)[1]
        except DecodeError:
            return None
    return core.Walk(described, *paths(described)), end
"#;

fuzz_target!(|input: &[u8]| {
    let Some((number, data)) = input.split_first_chunk() else { return };
    let number = u16::from_be_bytes(*number);
    let found = python::found(PROGRAM);
    Python::attach(|py| {
        let pair = found.bind(py).call1((number,)).expect("every message has a walk");
        let (walk, end): (Bound<'_, Walk>, Bound<'_, PyAny>) = pair.extract().expect("a walk and a function");
        let mut found = Found::default();
        let walked = walk.get().over(data, 0, &mut found);
        let decoded: Option<usize> = end.call1((PyBytes::new(py, data),)).expect("no other error").extract().unwrap();
        assert_eq!(walked, decoded);
        if walked.is_some() {
            for value in found.slots.iter().chain(found.items.iter().flatten()) {
                if let Value::Part(..) = value {
                    let _ = value.bytes(data);
                }
            }
        }
    });
});
