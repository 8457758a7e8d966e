//! Any bytes as a file of packets: the native reader and Python's give the same frames, problems and state.
#![no_main]
use libfuzzer_sys::fuzz_target;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
mod python;

const PROGRAM: &str = r#"
from kafka_rack.wire_capture import captures
from kafka_rack.wire_capture.files import CaptureFile, DecompressedFile

FILE = CaptureFile("seen.pcap", "packets", 0)
CORE, CONTENT = captures.core, []
captures.DecompressedFile = lambda path: DecompressedFile(path, CONTENT[-1])

def request(pending):
    return pending and (pending.frame, pending.ts, pending.correlation_id, pending.data, pending.kind.head)

def outcome(text, is_native):
    captures.core, CONTENT[:], problems = CORE if is_native else None, [text], []
    state, frames = captures.read_frames(FILE, captures.Options(), problems)
    read = [
        (
            *(frame.index, frame.ts, frame.connection.number, frame.is_request, frame.data, request(frame.asked)),
            *(frame.correlation_id, frame.error, frame.offset, [*map(request, frame.passed_over)]),
            *(frame.connection.client, frame.connection.broker, frame.connection.rack),
        )
        for frame in frames
    ]
    waiting = {number: (one.asked_bytes, [*one.asked]) for number, one in state.connections.items()}
    return read, problems, state.frames, state.known, waiting

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
