//! Any bytes as lines of a capture: the native reader and Python's give the same frames, problems and state.
#![no_main]
use libfuzzer_sys::fuzz_target;
mod python;

const PROGRAM: &str = r#"
from kafka_rack.wire_capture import frames, lines
from protocol.backends import core

CLASSES = frames.Frame, frames.PendingRequest, frames.CapturedConnection
FUNCTIONS = frames.kind_of, frames.acks_of
BOUNDS = frames.MAX_ASKED, frames.MAX_ASKED_BYTES

def outcome(text, is_native):
    state, problems = frames.ReadingState(), []
    state.connections.update({number: frames.CapturedConnection(number) for number in range(4)})
    reader = lines.LineReader("", state, problems)
    if is_native:
        reader = core.LineReader(reader, state, CLASSES, FUNCTIONS, BOUNDS)
    read = [parts(frame) for frame in reader.frames(text, 0)]
    waiting = {number: (one.asked_bytes, [*one.asked]) for number, one in state.connections.items()}
    return read, problems, state.frames, waiting
"#;

fuzz_target!(|input: &[u8]| python::check(&[python::READERS, PROGRAM].concat(), (input,)));
