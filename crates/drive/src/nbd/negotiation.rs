//! The first phase of a connection: the client asks for exports and for the features that it may use.
//!
//! Source: `doc/proto.md`, "Fixed newstyle negotiation" and "Option types".

use super::export::Export;
use super::wire::{self, Fields, info, option, reply, transmission};
use crate::socket::Incoming;
use std::io::{self, BufReader, Read};

/// The longest option data that is parsed, bytes. `NBD_OPT_SET_META_CONTEXT` has the longest, and a client asks for a handful of
/// contexts.
const MOST_OPTION_BYTES: u32 = 1 << 16;
/// The longest option data that is skipped so that an answer can be given, bytes. A client that sends more loses the connection.
const MOST_DISCARDED_BYTES: u32 = 1 << 20;

/// The only metadata context, and its number in replies.
const CONTEXT: &str = "base:allocation";
pub(crate) const CONTEXT_ID: u32 = 1;

/// The features that were agreed on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreed {
    /// Whether replies are structured.
    pub structured: bool,
    /// Whether the metadata context `base:allocation` was selected.
    pub allocation: bool,
}

/// Negotiates up to the point where transmission begins. `None` if the client leaves, or its connection is to be closed.
///
/// # Errors
/// When the stream ends or fails, when its deadline passes, or when the client violates the protocol in a way that no reply could
/// report.
pub(crate) fn negotiate(stream: &mut BufReader<Incoming>, export: &dyn Export) -> io::Result<Option<Agreed>> {
    let flags = wire::handshake::FIXED_NEWSTYLE | wire::handshake::NO_ZEROES;
    let mut greeting = Vec::with_capacity(18);
    greeting.extend(wire::MAGIC.to_be_bytes());
    greeting.extend(wire::OPTION_MAGIC.to_be_bytes());
    greeting.extend(flags.to_be_bytes());
    stream.get_ref().socket.write_all(&greeting)?;

    let client_flags = u32::from_be_bytes(array(stream)?);
    if client_flags & !u32::from(flags) != 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Clients without the fixed style can send no option but the name anyway.
    let no_zeroes = client_flags & u32::from(wire::handshake::NO_ZEROES) != 0;

    let mut agreed = Agreed::default();
    let mut data = Vec::new();
    loop {
        if u64::from_be_bytes(array(stream)?) != wire::OPTION_MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let kind = u32::from_be_bytes(array(stream)?);
        let length = u32::from_be_bytes(array(stream)?);
        let mut replies = Replies { option: kind, bytes: Vec::new() };
        if length > MOST_OPTION_BYTES {
            if length > MOST_DISCARDED_BYTES || kind == option::EXPORT_NAME {
                return Err(io::ErrorKind::InvalidData.into());
            }
            discard(stream, length.into())?;
            if kind == option::SET_META_CONTEXT {
                agreed.allocation = false;
            }
            replies.error(reply::ERR_TOO_BIG, "the data of an option is limited to 65536 bytes");
            stream.get_ref().socket.write_all(&replies.bytes)?;
            continue;
        }
        data.resize(length as usize, 0);
        stream.read_exact(&mut data)?;

        let mut ended = None;
        match kind {
            option::EXPORT_NAME => {
                // The protocol has no negative reply to this option.
                if !is_name(export, &data) {
                    return Ok(None);
                }
                replies.bytes.extend(export.size_bytes().to_be_bytes());
                replies.bytes.extend(transmission_flags(export, agreed).to_be_bytes());
                if !no_zeroes {
                    replies.bytes.extend([0; 124]);
                }
                ended = Some(Some(agreed));
            }
            option::ABORT => {
                replies.send(reply::ACK, &[]);
                ended = Some(None);
            }
            option::LIST if data.is_empty() => {
                replies.send(
                    reply::SERVER,
                    &[&length_of(export.name()), export.name().as_bytes(), export.description().as_bytes()],
                );
                replies.send(reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                agreed.structured = true;
                replies.send(reply::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => {
                replies.error(reply::ERR_INVALID, "this option takes no data");
            }
            option::INFO | option::GO => {
                if tell(&mut replies, export, agreed, &data) && kind == option::GO {
                    ended = Some(Some(agreed));
                }
            }
            option::LIST_META_CONTEXT => {
                meta_context(&mut replies, export, &data, false);
            }
            option::SET_META_CONTEXT => {
                // An earlier selection is replaced, even by a request that fails. Selecting and choosing the export by different names
                // is allowed, as there is only one export.
                agreed.allocation = false;
                if agreed.structured {
                    agreed.allocation = meta_context(&mut replies, export, &data, true);
                } else {
                    replies.error(reply::ERR_INVALID, "metadata contexts need structured replies");
                }
            }
            _ => replies.error(reply::ERR_UNSUP, "unknown option"),
        }
        stream.get_ref().socket.write_all(&replies.bytes)?;
        if let Some(result) = ended {
            return Ok(result);
        }
    }
}

/// Reads bytes and drops them.
pub(crate) fn discard(stream: &mut impl Read, bytes: u64) -> io::Result<()> {
    let passed = io::copy(&mut stream.take(bytes), &mut io::sink())?;
    if passed == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn is_name(export: &dyn Export, name: &[u8]) -> bool {
    name.is_empty() || name == export.name().as_bytes()
}

fn length_of(text: &str) -> [u8; 4] {
    u32::try_from(text.len()).expect("strings of exports are short").to_be_bytes()
}

fn transmission_flags(export: &dyn Export, agreed: Agreed) -> u16 {
    use transmission::*;
    let writes = SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO;
    HAS_FLAGS
        | SEND_FLUSH
        | SEND_FUA
        | CAN_MULTI_CONN
        | SEND_CACHE
        | if agreed.structured { SEND_DF } else { 0 }
        | if export.is_read_only() { READ_ONLY } else { writes }
}

/// Replies to one option.
struct Replies {
    option: u32,
    bytes: Vec<u8>,
}

impl Replies {
    fn send(&mut self, kind: u32, payload: &[&[u8]]) {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        self.bytes.extend(wire::OPTION_REPLY_MAGIC.to_be_bytes());
        self.bytes.extend(self.option.to_be_bytes());
        self.bytes.extend(kind.to_be_bytes());
        self.bytes.extend(u32::try_from(length).expect("replies are short").to_be_bytes());
        payload.iter().for_each(|part| self.bytes.extend_from_slice(part));
    }

    fn error(&mut self, kind: u32, message: &str) {
        self.send(kind, &[message.as_bytes()]);
    }
}

/// Answers `NBD_OPT_INFO` and `NBD_OPT_GO`. Returns whether the export exists.
fn tell(replies: &mut Replies, export: &dyn Export, agreed: Agreed, data: &[u8]) -> bool {
    let mut fields = Fields(data);
    let parsed = (|| {
        let name = fields.string()?;
        let count = usize::from(fields.u16()?);
        let wanted = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
        fields.0.is_empty().then_some((name, wanted))
    })();
    let Some((name, wanted)) = parsed else {
        replies.error(reply::ERR_INVALID, "the data is not a name and a list of information requests");
        return false;
    };
    if !is_name(export, name) {
        replies.error(reply::ERR_UNKNOWN, "there is no export of this name");
        return false;
    }
    let flags = transmission_flags(export, agreed).to_be_bytes();
    replies.send(reply::INFO, &[&info::EXPORT.to_be_bytes(), &export.size_bytes().to_be_bytes(), &flags]);
    // Each kind of information is sent once, however often it was asked for.
    if wanted.contains(&info::NAME) {
        replies.send(reply::INFO, &[&info::NAME.to_be_bytes(), export.name().as_bytes()]);
    }
    if wanted.contains(&info::DESCRIPTION) && !export.description().is_empty() {
        replies.send(reply::INFO, &[&info::DESCRIPTION.to_be_bytes(), export.description().as_bytes()]);
    }
    if wanted.contains(&info::BLOCK_SIZE) {
        let sizes = [wire::MINIMUM_BLOCK_BYTES, export.preferred_block_bytes(), wire::MAXIMUM_PAYLOAD_BYTES];
        let sizes = sizes.map(u32::to_be_bytes);
        replies.send(reply::INFO, &[&info::BLOCK_SIZE.to_be_bytes(), sizes.as_flattened()]);
    }
    replies.send(reply::ACK, &[]);
    true
}

/// Lists or selects metadata contexts. Returns whether ours is among them.
fn meta_context(replies: &mut Replies, export: &dyn Export, data: &[u8], select: bool) -> bool {
    let mut fields = Fields(data);
    let parsed = (|| {
        let name = fields.string()?;
        let count = fields.u32()?;
        let mut found = count == 0 && !select;
        // The loop ends with the data, whatever the count says.
        for _ in 0..count {
            let query = fields.string()?;
            found |= query == CONTEXT.as_bytes() || (query == b"base:" && !select);
        }
        fields.0.is_empty().then_some((name, found))
    })();
    let Some((name, found)) = parsed else {
        replies.error(reply::ERR_INVALID, "the data is not a name and a list of queries");
        return false;
    };
    if !is_name(export, name) {
        replies.error(reply::ERR_UNKNOWN, "there is no export of this name");
        return false;
    }
    if found {
        let id = if select { CONTEXT_ID } else { 0 };
        replies.send(reply::META_CONTEXT, &[&id.to_be_bytes(), CONTEXT.as_bytes()]);
    }
    replies.send(reply::ACK, &[]);
    found
}
