//! Any bytes as any message: the native decoder and Python's give the same message and end, or the same error.
#![no_main]
use libfuzzer_sys::fuzz_target;
mod python;

const PROGRAM: &str = r#"
from protocol import registry
from protocol.compiler import compile_decoder
from protocol.codec import codec
from protocol.errors import DecodeError
from protocol.reference import decode
import functools
import msgspec

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
        message, end = decoder(data)
        return repr(msgspec.to_builtins(message)), end
    except DecodeError as error:
        return error.args

def found(number, data):
    native, python = (outcome(one, data) for one in pair(number))
    if native != python:
        raise AssertionError(f"{versions[number % len(versions)]} {data!r}: {native} and {python}")
"#;

fuzz_target!(|input: &[u8]| {
    let Some((number, data)) = input.split_first_chunk() else { return };
    let number = u16::from_be_bytes(*number);
    python::check(PROGRAM, (number, data));
});
