//! Any bytes as any message: the native decoder and Python's give the same message and end, or the same error.
#![no_main]
use libfuzzer_sys::fuzz_target;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
mod python;

const PROGRAM: &str = r#"
from protocol import registry
from protocol.compiler import compile_decoder
from protocol.codec import codec
from protocol.errors import DecodeError
from protocol.reference import decode
import functools

classes = [
    registry.message_class(key, kind) for key in sorted(registry.APIS) for kind in ("request", "response")
]
versions = [(one, version) for one in classes for version in one.valid_versions]

@functools.cache
def pair(number):
    message, version = versions[number % len(versions)]
    def explain(data, start=0):
        decode(message, version, data[start:])
        raise AssertionError("the constructs read it")
    return codec(message, version).decode, compile_decoder(message, version, explain)

def outcome(decoder, data):
    try:
        return repr(decoder(data))
    except DecodeError as error:
        return error.args

def found(number, data):
    native, python = (outcome(one, data) for one in pair(number))
    if native != python:
        raise AssertionError(f"{versions[number % len(versions)]} {data!r}: {native} and {python}")
"#;

fuzz_target!(|input: (u16, Vec<u8>)| {
    let (number, data) = input;
    let found = python::found(PROGRAM);
    Python::attach(|py| {
        if let Err(error) = found.bind(py).call1((number, PyBytes::new(py, &data))) {
            error.print(py);
            std::process::abort();
        }
    });
});
