//! The batches of a records field in numbers: those of magic 2, and messages of magic 0 and 1, that are whole and sound.
//!
//! All else (what is cut off, damaged, or compressed within what is compressed) is refused, and read in Python.
use crc32c::crc32c;
use crc32fast::hash as crc32;

const HEADER: usize = 61;
const LOG_OVERHEAD: usize = 12;
const CRC_COVERS_FROM: usize = 21;
const HIGHEST_CODEC: u16 = 4;
const CODEC_MASK: u16 = 7;
const TRANSACTIONAL: u16 = 0x10;
const CONTROL: u16 = 0x20;
const MESSAGE_CRC_COVERS_FROM: usize = 16;
const HIGHEST_CODEC_OF_MESSAGES: u16 = 3;
const NO_PRODUCER_ID: i64 = -1;

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
    pub magic: u8,
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

/// Compressed records: `bytes` have them from `start` on, and decide what they hold.
pub struct Compressed<'a> {
    pub codec: u16,
    pub magic: u8,
    pub bytes: &'a [u8],
    pub start: usize,
    /// The number of the records; of a message of magic 1 the offset of the last one, 0 for any.
    expected: i64,
}

impl Compressed<'_> {
    /// What decompressed records are; `None` where something does not add up.
    pub fn counts(&self, body: &[u8]) -> Option<Counts> {
        if self.magic == 2 {
            counted(body, self.expected)
        } else {
            messages(body, self.expected)
        }
    }
}

/// The batches of a records field, or `None`. `inflate` counts compressed records.
pub fn batches<F>(records: &[u8], mut inflate: F, found: &mut Vec<Batch>) -> Option<()>
where
    F: FnMut(&Compressed<'_>) -> Option<Counts>,
{
    let mut rest = records;
    while !rest.is_empty() {
        let batch = match *rest.get(16)? {
            2 => batch(rest, &mut inflate)?,
            _ => outer_message(rest, &mut inflate)?,
        };
        rest = &rest[batch.size..];
        found.push(batch);
    }
    Some(())
}

/// The batch of magic 2 at the start of records.
fn batch<F>(records: &[u8], inflate: &mut F) -> Option<Batch>
where
    F: FnMut(&Compressed<'_>) -> Option<Counts>,
{
    let size = usize::try_from(i32::from_be_bytes(fixed(records, 8)?)).ok()? + LOG_OVERHEAD;
    if size < HEADER {
        return None;
    }
    let batch = records.get(..size)?;
    let attributes = u16::from_be_bytes(fixed(batch, CRC_COVERS_FROM)?);
    let count = i64::from(i32::from_be_bytes(fixed(batch, 57)?));
    let covered = &batch[CRC_COVERS_FROM..];
    if attributes & CODEC_MASK > HIGHEST_CODEC || count < 0 || crc32c(covered).to_be_bytes() != fixed(batch, 17)? {
        return None;
    }
    let start = HEADER - CRC_COVERS_FROM;
    let counts = match attributes & CODEC_MASK {
        0 => counted(&batch[HEADER..], count)?,
        codec => inflate(&Compressed { codec, magic: 2, bytes: covered, start, expected: count })?,
    };
    let base_offset = i64::from_be_bytes(fixed(batch, 0)?);
    let producer_id = i64::from_be_bytes(fixed(batch, 43)?);
    Some(Batch { size, base_offset, producer_id, magic: 2, attributes, counts })
}

/// The message at the start of records, with those that are compressed in it.
fn outer_message<F>(records: &[u8], inflate: &mut F) -> Option<Batch>
where
    F: FnMut(&Compressed<'_>) -> Option<Counts>,
{
    let found = message(records)?;
    let counts = match found.codec {
        0 => found.counts(),
        codec if codec > HIGHEST_CODEC_OF_MESSAGES => return None,
        codec => {
            let expected = if found.magic == 1 { found.offset } else { 0 };
            let (bytes, start) = (found.bytes, found.bytes.len() - found.value?.len());
            inflate(&Compressed { codec, magic: found.magic, bytes, start, expected })?
        }
    };
    Some(Batch {
        size: found.bytes.len(),
        base_offset: found.offset,
        producer_id: NO_PRODUCER_ID,
        magic: found.magic,
        attributes: found.codec,
        counts,
    })
}

/// A whole message of magic 0 or 1 whose checksum is right. Its value is the last of its bytes.
struct Message<'a> {
    bytes: &'a [u8],
    magic: u8,
    offset: i64,
    codec: u16,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl Message<'_> {
    fn counts(&self) -> Counts {
        let bytes = |field: Option<&[u8]>| field.map_or(0, <[u8]>::len) as i64;
        let (key_bytes, value_bytes) = (bytes(self.key), bytes(self.value));
        Counts { records: 1, key_bytes, value_bytes, headers: 0, keyed: self.key.is_some() }
    }
}

fn message(data: &[u8]) -> Option<Message<'_>> {
    let size = usize::try_from(i32::from_be_bytes(fixed(data, 8)?)).ok()? + LOG_OVERHEAD;
    let bytes = data.get(..size)?;
    let magic = *bytes.get(MESSAGE_CRC_COVERS_FROM)?;
    let start = match magic {
        0 => 18,
        1 => 26,
        _ => return None,
    };
    if crc32(&bytes[MESSAGE_CRC_COVERS_FROM..]).to_be_bytes() != fixed(bytes, LOG_OVERHEAD)? {
        return None;
    }
    let codec = u16::from(*bytes.get(17)?) & CODEC_MASK;
    let (key, at) = nullable(bytes, start)?;
    let (value, end) = nullable(bytes, at)?;
    let offset = i64::from_be_bytes(fixed(bytes, 0)?);
    (end == size).then_some(Message { bytes, magic, offset, codec, key, value })
}

/// Bytes after their length, -1 for null, and where they end.
fn nullable(data: &[u8], at: usize) -> Option<(Option<&[u8]>, usize)> {
    let start = at + 4;
    match i32::from_be_bytes(fixed(data, at)?) {
        -1 => Some((None, start)),
        length => {
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            Some((Some(data.get(start..end)?), end))
        }
    }
}

/// Counts the messages of a decompressed one; the last has at most the offset `outer`, unless that is 0.
fn messages(body: &[u8], outer: i64) -> Option<Counts> {
    let (mut found, mut rest, mut last) = (Counts::default(), body, i64::MAX);
    while !rest.is_empty() {
        let one = message(rest).filter(|one| one.codec == 0)?;
        let counts = one.counts();
        found.records += 1;
        found.key_bytes += counts.key_bytes;
        found.value_bytes += counts.value_bytes;
        found.keyed |= counts.keyed;
        last = one.offset;
        rest = &rest[one.bytes.len()..];
    }
    (found.records > 0 && (outer == 0 || last <= outer)).then_some(found)
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
