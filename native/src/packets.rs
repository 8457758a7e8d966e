//! Packets of pcap and pcapng files and the TCP segments in them, as `packets.py` and `segments.py` of
//! `kafka_rack/wire_capture` read them. Whatever is not plain is left to Python.
use crate::lines::LATEST;
use foldhash::{HashMap, HashMapExt as _};
use pyo3::prelude::*;
use pyo3::types::PyList;

const ENHANCED_PACKET: u32 = 6;
const MAX_PACKET_BYTES: u32 = 1 << 24;
const MIN_SNAP_BYTES: u32 = 1 << 18;
const DAY: i64 = 86_400;
const US: u64 = 1_000_000;
const VLAN_TYPES: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const TCP: u8 = 6;
/// Headers of IPv6 that may come before TCP's.
const EXTENSIONS: [u8; 5] = [0, 43, 44, 51, 60];
pub const FIN_SYN_RST: u8 = 1 | 2 | 4;

/// What packets of one interface share. `None` in `Format`: its clock is for Python.
struct Interface {
    link_type: u32,
    snap_bytes: u32,
    ticks_per_second: u64,
    later_seconds: i64,
}

impl Interface {
    fn read(found: &Bound<'_, PyAny>) -> Option<Interface> {
        let of = |name: &str| found.getattr(name);
        Some(Interface {
            link_type: of("link_type").ok()?.extract().ok()?,
            snap_bytes: of("snap_bytes").ok()?.extract().ok()?,
            ticks_per_second: of("ticks_per_second").ok()?.extract().ok().filter(|ticks| *ticks > 0)?,
            later_seconds: of("later_seconds").ok()?.extract().ok()?,
        })
    }

    /// Microseconds since 1970; `None`: no date.
    fn time(&self, ticks: u64) -> Option<i64> {
        let us = match self.ticks_per_second {
            US => u128::from(ticks),
            per_second if per_second % US == 0 => u128::from(ticks / (per_second / US)),
            per_second => u128::from(ticks) * u128::from(US) / u128::from(per_second),
        };
        let ts = us as i128 + i128::from(self.later_seconds) * i128::from(US);
        i64::try_from(ts).ok().filter(|ts| (0..=LATEST).contains(ts))
    }
}

/// A packet of a file: its bytes from `start` to `end`, of `wire_bytes` that were sent, and where the next one begins.
struct Packet {
    ts: i64,
    link_type: u32,
    start: usize,
    end: usize,
    wire_bytes: usize,
    next: usize,
}

/// The form of a file, as the `Format` of `packets.py` has it.
#[derive(Default)]
pub struct Format {
    is_little: bool,
    is_next_generation: bool,
    interfaces: Vec<Option<Interface>>,
    of: Option<Py<PyList>>,
    /// The second of the last packet of a pcap that was taken; the next one is near it.
    second: i64,
    /// The same of the last one that was looked at.
    seen: i64,
    has_taken: bool,
}

impl Format {
    /// Looks at the format again, of which Python may have read more. False: no packet of it is plain.
    pub fn read(&mut self, found: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = found.py();
        self.is_little = found.getattr(pyo3::intern!(py, "order"))?.extract::<&str>()? == "<";
        self.is_next_generation = found.getattr(pyo3::intern!(py, "is_next_generation"))?.extract()?;
        let list = found.getattr(pyo3::intern!(py, "interfaces"))?.cast_into::<PyList>()?;
        if !self.of.as_ref().is_some_and(|before| before.is(&list)) {
            self.interfaces.clear();
            self.of = Some(list.clone().unbind());
        }
        for number in self.interfaces.len()..list.len() {
            self.interfaces.push(Interface::read(&list.get_item(number)?));
        }
        let second: Option<i64> = found.getattr(pyo3::intern!(py, "second"))?.extract()?;
        (self.second, self.has_taken) = (second.unwrap_or_default(), false);
        Ok(self.is_next_generation || second.is_some())
    }

    /// Notes that the packet that was looked at is taken.
    pub fn take(&mut self) {
        (self.second, self.has_taken) = (self.seen, true);
    }

    /// Gives the time of the last packet that was taken back to Python.
    pub fn note(&self, found: &Bound<'_, PyAny>) -> PyResult<()> {
        if !self.is_next_generation && self.has_taken {
            found.setattr(pyo3::intern!(found.py(), "second"), self.second)?;
            found.setattr(pyo3::intern!(found.py(), "second_before"), self.second)?;
        }
        Ok(())
    }

    fn word(&self, text: &[u8], at: usize) -> Option<u32> {
        let bytes = text.get(at..at + 4)?.try_into().ok()?;
        Some(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// The packet that begins here. `None`: it is not plain, or not whole.
    fn packet(&self, text: &[u8], at: usize) -> Option<Packet> {
        if self.is_next_generation {
            self.block(text, at)
        } else {
            self.classic(text, at)
        }
    }

    /// A packet of a pcap, if another one follows: where none does, Python may read this one again.
    fn classic(&self, text: &[u8], at: usize) -> Option<Packet> {
        let interface = self.interfaces.first()?.as_ref()?;
        let (ts, size, wire_bytes) = self.header(interface, self.second, text, at)?;
        let (start, next) = (at + 16, at + 16 + size);
        self.header(interface, ts / US as i64, text, next)?;
        Some(Packet { ts, link_type: interface.link_type, start, end: next, wire_bytes, next })
    }

    /// The time of a packet of a pcap, which is near a second, how many of its bytes the file has, and how many were sent.
    fn header(&self, interface: &Interface, second: i64, text: &[u8], at: usize) -> Option<(i64, usize, usize)> {
        let word = |number: usize| self.word(text, at + 4 * number);
        let (seconds, fraction, size, wire_bytes) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let most = interface.snap_bytes.clamp(MIN_SNAP_BYTES, MAX_PACKET_BYTES).min(wire_bytes);
        let is_near = (i64::from(seconds) - second).abs() <= DAY;
        if size > most || wire_bytes == 0 || u64::from(fraction) >= interface.ticks_per_second || !is_near {
            return None;
        }
        let ts = u64::from(seconds) * US + u64::from(fraction) / (interface.ticks_per_second / US);
        Some((ts as i64, size as usize, wire_bytes as usize))
    }

    fn block(&self, text: &[u8], at: usize) -> Option<Packet> {
        let word = |number: usize| self.word(text, at + 4 * number);
        let (kind, length) = (word(0)?, word(1)?);
        if kind != ENHANCED_PACKET || length < 32 || length % 4 != 0 || length > MAX_PACKET_BYTES {
            return None;
        }
        let next = at + length as usize;
        if self.word(text, next - 4)? != length {
            return None;
        }
        let (number, high, low, size, wire_bytes) = (word(2)?, word(3)?, word(4)?, word(5)?, word(6)?);
        let (start, end) = (at + 28, at + 28 + size as usize);
        let interface = self.interfaces.get(number as usize)?.as_ref()?;
        let ts = interface.time(u64::from(high) << 32 | u64::from(low))?;
        let link_type = interface.link_type;
        (end <= next - 4).then_some(Packet { ts, link_type, start, end, wire_bytes: wire_bytes as usize, next })
    }

    /// What the packet that begins here brings.
    pub fn segment(&mut self, links: &Links, text: &[u8], at: usize) -> Found {
        let Some(packet) = self.packet(text, at) else { return Found::Odd };
        self.seen = packet.ts / US as i64;
        links.0.get(&packet.link_type).map_or(Found::Odd, |link| packet.segment(*link, text))
    }
}

/// By link type where its header names the protocol that follows, if it does, and where the header ends.
pub struct Links(pub HashMap<u32, (Option<usize>, usize)>);

impl Links {
    pub fn new(found: Vec<(u32, Option<usize>, usize)>) -> Links {
        let mut links = HashMap::new();
        links.extend(found.into_iter().map(|(link_type, kind_at, end)| (link_type, (kind_at, end))));
        Links(links)
    }
}

/// The version of the addresses, both, and both ports: of the sender first.
pub type Ends = [u8; 37];

/// A TCP segment with bytes, or that opens or ends a connection. Its bytes in the file are those from `start` to `end`.
pub struct Segment {
    pub ts: i64,
    pub ends: Ends,
    pub sequence: u32,
    pub flags: u8,
    pub start: usize,
    pub end: usize,
    /// Where the next packet begins.
    pub next: usize,
}

pub enum Found {
    /// Python reads the packet.
    Odd,
    /// No segment; the next packet begins there.
    Nothing(usize),
    Segment(Segment),
}

impl Packet {
    fn segment(&self, (kind_at, mut at): (Option<usize>, usize), text: &[u8]) -> Found {
        let data = &text[self.start..self.end];
        let short = |at: usize| data.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        if let Some(kind_at) = kind_at {
            let mut kind = short(kind_at);
            while kind.is_some_and(|kind| VLAN_TYPES.contains(&kind)) {
                kind = short(at + 2);
                at += 4;
            }
            if !matches!(kind, Some(0x0800 | 0x86DD)) {
                return Found::Nothing(self.next);
            }
        }
        let found = match data.get(at).map(|first| first >> 4) {
            Some(4) => ipv4(data, at, self.wire_bytes),
            Some(6) if data.get(at + 6).is_some_and(|next| EXTENSIONS.contains(next)) => return Found::Odd,
            Some(6) => ipv6(data, at, self.wire_bytes),
            _ => None,
        };
        let Some((start, end, mut ends)) = found else { return Found::Nothing(self.next) };
        let Some(header) = data.get(start..start + 20) else { return Found::Nothing(self.next) };
        let length = usize::from(header[12] >> 4) * 4;
        let payload = start + length;
        if length < 20 || (end <= payload && header[13] & FIN_SYN_RST == 0) {
            return Found::Nothing(self.next);
        }
        if end > data.len() || end < payload {
            return Found::Odd; // bytes that the file has not, or lengths that disagree
        }
        ends[33..].copy_from_slice(&header[..4]);
        Found::Segment(Segment {
            ts: self.ts,
            ends,
            sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            flags: header[13],
            start: self.start + payload,
            end: self.start + end,
            next: self.next,
        })
    }
}

/// Where TCP's header begins, where its segment ends, and the addresses.
type Network = Option<(usize, usize, Ends)>;

fn ipv4(data: &[u8], at: usize, wire_bytes: usize) -> Network {
    let head = data.get(at..at + 20)?;
    let header = usize::from(head[0] & 15) * 4;
    if head[9] != TCP || u16::from_be_bytes([head[6], head[7]]) & 0x3FFF != 0 || header < 20 {
        return None;
    }
    let end = match usize::from(u16::from_be_bytes([head[2], head[3]])) {
        0 => wire_bytes, // segmentation left to the network card
        total => at + total,
    };
    let mut ends = [0; 37];
    ends[0] = 4;
    ends[1..5].copy_from_slice(&head[12..16]);
    ends[17..21].copy_from_slice(&head[16..20]);
    Some((at + header, end, ends))
}

fn ipv6(data: &[u8], at: usize, wire_bytes: usize) -> Network {
    let head = data.get(at..at + 40)?;
    if head[6] != TCP {
        return None;
    }
    let end = match usize::from(u16::from_be_bytes([head[4], head[5]])) {
        0 => wire_bytes,
        payload => at + 40 + payload,
    };
    let mut ends = [0; 37];
    ends[0] = 6;
    ends[1..33].copy_from_slice(&head[8..40]);
    Some((at + 40, end, ends))
}
