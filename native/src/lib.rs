//! The codec of kafka-rack in Rust, and its reader of captured frames (`frames.rs`).
//!
//! Python makes a small program of each declared message version (`protocol/native.py`); here it is read once and
//! interpreted for each message. Instances of the declared classes are allocated and filled at offsets that were found
//! by looking (`class.rs`); where looking fails, the class is called.
//!
//! All bytes are read by bounds-checked slices. `unsafe` is the handling of Python's objects alone, and each entry from
//! Python catches panics.
pub mod batches;
mod class;
mod connections;
mod decode;
mod encode;
mod entry;
mod frames;
mod joining;
mod lines;
mod object;
mod packets;
mod program;
pub mod walk;

use pyo3::prelude::*;

#[pymodule]
pub fn kafka_rack_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<frames::FrameReader>()?;
    module.add_class::<lines::LineReader>()?;
    module.add_class::<connections::PacketReader>()?;
    module.add_class::<walk::Walk>()?;
    module.add_function(wrap_pyfunction!(class::probe, module)?)?;
    module.add_function(wrap_pyfunction!(entry::by_api, module)?)?;
    module.add_function(wrap_pyfunction!(entry::compile, module)?)
}
