//! Any bytes as lines of a capture: the native reader and Python's give the same frames, problems and state.
#![no_main]
use libfuzzer_sys::fuzz_target;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
mod python;

const PROGRAM: &str = r#"
from kafka_rack.wire_capture import frames, lines
from protocol.backends import core

CLASSES = frames.Frame, frames.PendingRequest, frames.CapturedConnection
FUNCTIONS = frames.kind_of, frames.acks_of
BOUNDS = frames.MAX_ASKED, frames.MAX_ASKED_BYTES

def request(pending):
    return pending and (pending.frame, pending.ts, pending.correlation_id, pending.data, pending.kind.head)

def outcome(text, is_native):
    state, problems = frames.ReadingState(), []
    state.connections.update({number: frames.CapturedConnection(number) for number in range(4)})
    reader = lines.LineReader("", state, problems)
    if is_native:
        reader = core.LineReader(reader, state, CLASSES, FUNCTIONS, BOUNDS)
    read = [
        (
            *(frame.index, frame.ts, frame.connection.number, frame.is_request, frame.data, request(frame.asked)),
            *(frame.correlation_id, frame.error, frame.offset, [*map(request, frame.passed_over)]),
        )
        for frame in reader.frames(text, 0)
    ]
    waiting = {number: (one.asked_bytes, [*one.asked]) for number, one in state.connections.items()}
    return read, problems, state.frames, waiting

def found(text):
    native, python = (outcome(text, is_native) for is_native in (True, False))
    if native != python:
        raise AssertionError(f"{text!r}: {native} and {python}")
"#;

fuzz_target!(|input: &[u8]| {
    let found = python::found(PROGRAM);
    Python::attach(|py| {
        if let Err(error) = found.bind(py).call1((PyBytes::new(py, input),)) {
            error.print(py);
            std::process::abort();
        }
    });
});
