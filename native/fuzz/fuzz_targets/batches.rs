//! Any bytes as a records field, with its checksums made right: what is counted fits into the bytes.
#![no_main]
use crc32c::crc32c;
use crc32fast::hash as crc32;
use kafka_rack_native::batches::batches;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut data = input.to_vec();
    let mut at = 0;
    while let Some(header) = data.get(at..at + 21) {
        let size = 12 + u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let Some(batch) = data.get_mut(at..at.saturating_add(size)).filter(|batch| batch.len() > 21) else { break };
        let (covered, place) = if batch[16] == 2 { (crc32c(&batch[21..]), 17) } else { (crc32(&batch[16..]), 12) };
        batch[place..place + 4].copy_from_slice(&covered.to_be_bytes());
        at += size;
    }
    let mut found = Vec::new();
    let all = batches(&data, |packed| packed.counts(&packed.bytes[packed.start..]), &mut found);
    let size: usize = found.iter().map(|one| one.size).sum();
    assert!(size <= data.len() && (all.is_none() || size == data.len()));
    for one in found {
        let held = one.counts.key_bytes + one.counts.value_bytes + one.counts.records * 7;
        assert!(held <= one.size as i64 && one.counts.headers >= 0);
    }
});
