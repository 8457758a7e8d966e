//! Any bytes as a file of packets: the native reader and Python's give the same frames, problems and state.
#![no_main]
use libfuzzer_sys::fuzz_target;
mod python;

const PROGRAM: &str = r#"
from kafka_rack.wire_capture import captures
from kafka_rack.wire_capture.files import CaptureFile, DecompressedFile

FILE = CaptureFile("seen.pcap", "packets", 0)
CORE, CONTENT = captures.core, []
captures.DecompressedFile = lambda path: DecompressedFile(path, CONTENT[-1])

def outcome(text, is_native):
    captures.core, CONTENT[:], problems = CORE if is_native else None, [text], []
    state, frames = captures.read_frames(FILE, captures.Options(), problems)
    read = [parts(frame) for frame in frames]
    waiting = {number: (one.asked_bytes, [*one.asked]) for number, one in state.connections.items()}
    return read, problems, state.frames, state.known, waiting
"#;

fuzz_target!(|input: &[u8]| python::check(&[python::READERS, PROGRAM].concat(), (input,)));
