//! The batches of a records field in numbers: those of magic 2 that are whole and sound.
//!
//! All else (messages of magic 0 and 1, what is cut off or damaged) is refused, and read in Python.
use crc32c::crc32c;

const HEADER: usize = 61;
const LOG_OVERHEAD: usize = 12;
const CRC_COVERS_FROM: usize = 21;
const HIGHEST_CODEC: u16 = 4;
const CODEC_MASK: u16 = 7;
const TRANSACTIONAL: u16 = 0x10;
const CONTROL: u16 = 0x20;

/// What a batch's records are: their number, bytes of keys and of values, headers, and whether any has a key.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Counts {
    pub records: i64,
    pub key_bytes: i64,
    pub value_bytes: i64,
    pub headers: i64,
    pub keyed: bool,
}

/// A whole batch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Batch {
    pub size: usize,
    pub base_offset: i64,
    pub producer_id: i64,
    attributes: u16,
    pub counts: Counts,
}

impl Batch {
    pub fn codec(&self) -> u16 {
        self.attributes & CODEC_MASK
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }
}

fn fixed<const WIDTH: usize>(data: &[u8], at: usize) -> Option<[u8; WIDTH]> {
    data.get(at..at + WIDTH)?.try_into().ok()
}

/// The batches of a records field, or `None`. `inflate` counts the records of a compressed one: it gets the codec, the
/// bytes that the checksum covers, and how many of these come before the records.
pub fn batches<F>(records: &[u8], mut inflate: F, found: &mut Vec<Batch>) -> Option<()>
where
    F: FnMut(u16, &[u8], usize, i64) -> Option<Counts>,
{
    let mut rest = records;
    while !rest.is_empty() {
        let length = usize::try_from(i32::from_be_bytes(fixed(rest, 8)?)).ok()?;
        let size = length + LOG_OVERHEAD;
        if size < HEADER || *rest.get(16)? != 2 {
            return None;
        }
        let batch = rest.get(..size)?;
        let attributes = u16::from_be_bytes(fixed(batch, CRC_COVERS_FROM)?);
        let count = i64::from(i32::from_be_bytes(fixed(batch, 57)?));
        let covered = &batch[CRC_COVERS_FROM..];
        if attributes & CODEC_MASK > HIGHEST_CODEC || count < 0 || crc32c(covered).to_be_bytes() != fixed(batch, 17)? {
            return None;
        }
        let counts = match attributes & CODEC_MASK {
            0 => counted(&batch[HEADER..], count)?,
            codec => inflate(codec, covered, HEADER - CRC_COVERS_FROM, count)?,
        };
        found.push(Batch {
            size,
            base_offset: i64::from_be_bytes(fixed(batch, 0)?),
            producer_id: i64::from_be_bytes(fixed(batch, 43)?),
            attributes,
            counts,
        });
        rest = &rest[size..];
    }
    Some(())
}

/// Counts records by their lengths alone; `None` where something does not add up.
pub fn counted(body: &[u8], count: i64) -> Option<Counts> {
    let mut found = Counts { records: count, ..Counts::default() };
    let mut at = 0;
    for _ in 0..count {
        let size = length(body, &mut at)??;
        let following = at.checked_add(size)?;
        at += 1; // attributes
        pass_varint(body, &mut at)?;
        pass_varint(body, &mut at)?;
        if let Some(key) = length(body, &mut at)? {
            found.keyed = true;
            found.key_bytes += i64::try_from(key).ok()?;
            at += key;
        }
        if let Some(value) = length(body, &mut at)? {
            found.value_bytes += i64::try_from(value).ok()?;
            at += value;
        }
        let headers = length(body, &mut at)??;
        found.headers += i64::try_from(headers).ok()?;
        if at > following || (headers == 0 && at != following) {
            return None;
        }
        at = following;
    }
    (at == body.len()).then_some(found)
}

/// A length as a zigzag varint of at most 32 bits; the inner `None` is a negative one.
#[inline(always)]
fn length(body: &[u8], at: &mut usize) -> Option<Option<usize>> {
    let first = *body.get(*at)?;
    *at += 1;
    let mut number = u64::from(first & 127);
    if first > 127 {
        let mut shift = 7;
        loop {
            let byte = *body.get(*at)?;
            *at += 1;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
            shift += 7;
            if shift > 28 {
                return None;
            }
        }
        u32::try_from(number).ok()?;
    }
    Some((number & 1 == 0).then_some(number as usize >> 1))
}

#[inline(always)]
fn pass_varint(body: &[u8], at: &mut usize) -> Option<()> {
    loop {
        let byte = *body.get(*at)?;
        *at += 1;
        if byte < 128 {
            return Some(());
        }
    }
}
