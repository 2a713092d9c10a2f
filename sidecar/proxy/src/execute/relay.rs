//! The hot path: one backend's answer goes to the client as it is.
//!
//! Only three kinds of packet are ever looked at: column definitions, where the statement ran
//! on a physical schema; OK and the end of rows, whose status the session must know; errors.
//! What needs no change is written straight from the backend's read buffer.

use bytes::BytesMut;
use remora_protocol::{
    CapabilityFlags, EofPacket, ErrPacket, Event, Found, HEADER, OkPacket, SessionChange,
    StatusFlags, decode_end, payload, rename_schema,
};

use super::drain::drain;
use super::{Cover, Unveiling};
use crate::backend::{Ended, Exchange};
use crate::failure::Failure;
use crate::frontend::Client;
use crate::names::Names;
use crate::session::of_branch;

/// What must change in an answer on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patch<'a> {
    /// Physical names become logical ones. `None`: the statement met no physical schema.
    pub names: Option<&'a Names>,
    /// The id of the first generated key, which MySQL does not know as one.
    pub insert_id: Option<u64>,
    /// Another statement of the same text follows.
    pub more_results: bool,
    /// It may be of an XA branch, of which the client knows nothing.
    pub in_branch: bool,
    /// Values are opened on the way.
    pub cover: Option<&'a Cover>,
    /// Errors that are not passed on: the caller may know better.
    pub withheld: Withheld,
}

/// Which errors are not passed on to the client.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Withheld {
    /// None.
    #[default]
    None,
    /// Those of this number.
    Number(u16),
    /// All but of this number, as long as nothing of the answer went to the client.
    AllBut(u16),
}

/// What the session must know of an answer.
#[derive(Debug, Default)]
pub(crate) struct Relayed {
    /// The last OK or end of rows; `None` after an error.
    pub ended: Option<Ended>,
    /// The error's number.
    pub error: Option<u16>,
    /// Whether there was a result set.
    pub had_rows: bool,
    /// How many rows there were.
    pub rows: u64,
    /// The error that was not passed on.
    pub withheld: Option<ErrPacket<'static>>,
}

/// Passes an answer on to the client until its end.
///
/// # Errors
/// If either side is gone or broken. Once bytes were written the client is cut off.
pub(crate) async fn relay(
    client: &mut Client,
    mut exchange: Exchange<'_>,
    patch: &Patch<'_>,
) -> Result<Relayed, Failure> {
    let mut relay = Relay {
        capabilities: exchange.capabilities(),
        strips_tracking: !client
            .capabilities()
            .contains(CapabilityFlags::CLIENT_SESSION_TRACK),
        // Numbers differ when a text was split into several statements, or its rewriting
        // changed how many frames it needed.
        renumbers: patch.cover.is_some()
            || client.marks_metadata()
            || client.sequence() != exchange.first_sequence(),
        unveiling: patch.cover.map(Cover::unveiling),
        hides_gtids: !client.has_own_gtids(),
        patch,
        next_sequence: client.sequence(),
        relayed: Relayed::default(),
        written: false,
        wants_file: false,
        bare: client.has_bare_results(),
        marks_metadata: client.marks_metadata(),
    };
    // In the old protocol the end of columns tells what follows, too.
    let tells_more = patch.more_results && client.expects_eofs();
    exchange.surface_columns(patch.names.is_some() || relay.renumbers || tells_more);
    exchange.surface_rows(relay.renumbers);
    loop {
        let verbatim = match relay.pass(client, &mut exchange) {
            Ok(verbatim) => verbatim,
            // A value that does not open ends the rows with an error, as MySQL's own do.
            Err(Failure::Answer(error)) if patch.cover.is_some() => {
                let (written, mut relayed) = (relay.written, relay.relayed);
                drain(exchange, true).await?;
                if !written {
                    client.discard();
                    return Err(Failure::Answer(error));
                }
                relayed.ended = None;
                relayed.error = Some(error.code);
                client.put_error(&error);
                return Ok(relayed);
            }
            Err(failure) if relay.written => return Err(cut_off(&failure)),
            Err(failure) => return Err(failure),
        };
        let done = exchange.is_done();
        relay.relayed.rows = exchange.counted();
        if relay.relayed.withheld.is_some() && !relay.written {
            // Columns that stood before the error may wait to be written.
            client.discard();
            return Ok(relay.relayed);
        }
        if verbatim > 0 || client.pending() > 0 {
            client
                .write_through(&exchange.buffered()[..verbatim])
                .await?;
            exchange.consume(verbatim);
            relay.written = true;
        }
        if done {
            client.set_sequence(relay.next_sequence);
            return Ok(relay.relayed);
        }
        if std::mem::take(&mut relay.wants_file) {
            client.set_sequence(relay.next_sequence);
            pass_file(client, &mut exchange).await?;
            relay.next_sequence = client.sequence();
        }
        match exchange.fill().await {
            Ok(()) => {}
            Err(error) if relay.written => return Err(cut_off(&error.into())),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Passes a file on from the client to the server that asked for it, packet by packet: the server
/// slows the client down through its socket. Errors of the server's come behind the file.
async fn pass_file(client: &mut Client, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
    loop {
        // Where the client goes away, the connection is given up with the exchange, and the server
        // takes nothing of the file.
        let packet = client.file_packet().await?;
        exchange
            .send_file(&packet)
            .await
            .map_err(|error| cut_off(&error.into()))?;
        if packet.is_empty() {
            return Ok(());
        }
    }
}

fn has_gtids(ok: &OkPacket<'_>) -> bool {
    ok.session_changes()
        .any(|change| matches!(change, Ok(SessionChange::Gtids(_))))
}

fn cut_off(failure: &Failure) -> Failure {
    tracing::debug!(%failure, "An answer was cut off");
    Failure::CutOff
}

struct Relay<'a> {
    capabilities: CapabilityFlags,
    strips_tracking: bool,
    renumbers: bool,
    /// GTIDs are tracked for the sidecar's own use.
    hides_gtids: bool,
    patch: &'a Patch<'a>,
    unveiling: Option<Unveiling<'a>>,
    next_sequence: u8,
    relayed: Relayed,
    /// Something of the answer went to the client.
    written: bool,
    /// The server waits for a file of the client's.
    wants_file: bool,
    /// The client wants no definitions of columns (`resultset_metadata`).
    bare: bool,
    /// It is told whether there are any.
    marks_metadata: bool,
}

/// The number that follows a packet, which is of one frame wherever this is asked: rows are
/// the only packets that need more.
fn sequence_after(packet: &[u8]) -> u8 {
    packet
        .get(HEADER - 1)
        .copied()
        .unwrap_or_default()
        .wrapping_add(1)
}

/// What becomes of one packet.
enum Fate<'p> {
    Kept,
    Renumbered,
    Column,
    Row,
    Ok(OkPacket<'p>),
    End(OkPacket<'p>),
    Error(ErrPacket<'p>),
    ColumnsEnd(EofPacket),
    Withheld,
    /// The head of a result, for a client that is told whether definitions follow.
    Head(u64),
    Dropped,
}

impl Relay<'_> {
    /// Goes through what is buffered. Changed packets, and what stands before them, are added
    /// to the client's output and consumed; answers how many bytes after them are verbatim.
    fn pass(&mut self, client: &mut Client, exchange: &mut Exchange<'_>) -> Result<usize, Failure> {
        let mut at = 0;
        while !exchange.is_done() && !self.wants_file {
            let Found { skip, len, event } = exchange.scan(at)?;
            let start = at + skip;
            if matches!(event, Event::NeedMore) {
                return Ok(start);
            }
            let packet = &exchange.buffered()[start..start + len];
            let body = payload(packet);
            match self.decide(&event, &body)? {
                Fate::Kept => {
                    self.next_sequence = sequence_after(packet);
                    at = start + len;
                }
                // Definitions are only dropped where each packet is looked at, so nothing stands
                // before this one.
                Fate::Withheld | Fate::Dropped => {
                    exchange.consume(start + len);
                    at = 0;
                }
                fate => {
                    client.put_framed(&exchange.buffered()[..start]);
                    if !self.renumbers {
                        client.set_sequence(sequence_after(packet).wrapping_sub(1));
                    }
                    let put = self.put(client, fate, &body);
                    self.next_sequence = client.sequence();
                    // Also where it failed: the scanner is past the packet.
                    exchange.consume(start + len);
                    put?;
                    at = 0;
                }
            }
        }
        Ok(at)
    }

    fn decide<'p>(&mut self, event: &Event, body: &'p [u8]) -> Result<Fate<'p>, Failure> {
        let kept = if self.renumbers {
            Fate::Renumbered
        } else {
            Fate::Kept
        };
        Ok(match event {
            Event::Ok { .. } => {
                let ok = OkPacket::decode(body, self.capabilities)?;
                self.ended(ok).map_or(kept, Fate::Ok)
            }
            Event::End { .. } => {
                self.relayed.had_rows = true;
                let ok = decode_end(body, self.capabilities)?;
                let changed = self.ended(ok);
                match self.unveiling {
                    Some(_) => Fate::End(changed.unwrap_or(ok)),
                    None => changed.map_or(kept, Fate::End),
                }
            }
            Event::Err => {
                let error = ErrPacket::decode(body)?;
                self.relayed.ended = None;
                self.relayed.error = Some(error.code);
                let withheld = match self.patch.withheld {
                    Withheld::None => false,
                    Withheld::Number(number) => error.code == number,
                    Withheld::AllBut(number) => error.code != number && !self.written,
                };
                if withheld {
                    self.relayed.withheld = Some(error.into_owned());
                    return Ok(Fate::Withheld);
                }
                let error = match self.patch.in_branch {
                    true => of_branch(error.into_owned()),
                    false => error,
                };
                match self.patch.names {
                    Some(names) => {
                        let message = names.in_text(&error.message).into_owned();
                        let message = match self.patch.cover {
                            Some(cover) => cover.in_text(&message),
                            None => message,
                        };
                        let message = message.into();
                        Fate::Error(ErrPacket { message, ..error })
                    }
                    None if self.patch.in_branch => Fate::Error(error),
                    None => kept,
                }
            }
            Event::Infile => {
                self.wants_file = true;
                kept
            }
            Event::ResultSet { columns } if self.marks_metadata => Fate::Head(*columns),
            Event::DefinitionsEnd if self.patch.more_results => {
                let mut end = EofPacket::decode(body)?;
                end.status |= StatusFlags::SERVER_MORE_RESULTS_EXISTS;
                Fate::ColumnsEnd(end)
            }
            Event::Column if self.bare && self.unveiling.is_none() => Fate::Dropped,
            Event::Column if self.patch.names.is_some() => Fate::Column,
            Event::Row if self.unveiling.is_some() => Fate::Row,
            _ => kept,
        })
    }

    /// Notes what an OK says; gives the changed packet if it must change.
    fn ended<'p>(&mut self, ok: OkPacket<'p>) -> Option<OkPacket<'p>> {
        self.relayed.ended = Some(Ended::from(&ok));
        let mut changed = ok;
        if let Some(id) = self.patch.insert_id {
            changed.last_insert_id = id;
        }
        if self.strips_tracking {
            changed.session_state = b"";
        }
        if self.patch.more_results {
            changed.status |= StatusFlags::SERVER_MORE_RESULTS_EXISTS;
        }
        let hides = self.hides_gtids && has_gtids(&changed);
        (hides || changed != ok).then_some(changed)
    }

    /// Hands an OK on without what the client did not ask for.
    fn put_ok(&self, ok: &OkPacket<'_>, put: impl FnOnce(&OkPacket<'_>)) {
        if !self.hides_gtids || !has_gtids(ok) {
            return put(ok);
        }
        let mut session_state = BytesMut::new();
        for change in ok.session_changes().flatten() {
            if !matches!(change, SessionChange::Gtids(_)) {
                change.encode(&mut session_state);
            }
        }
        put(&OkPacket {
            session_state: &session_state,
            ..*ok
        });
    }

    /// Adds the rows that were kept until all were there.
    fn put_held(&mut self, client: &mut Client) {
        for row in self.unveiling.iter_mut().flat_map(Unveiling::take_held) {
            client.put(&row);
        }
    }

    fn put(&mut self, client: &mut Client, fate: Fate<'_>, body: &[u8]) -> Result<(), Failure> {
        match fate {
            Fate::Withheld | Fate::Dropped => {}
            Fate::ColumnsEnd(end) => client.put_columns_end(&end),
            Fate::Head(columns) => client.put_head(columns),
            Fate::Kept | Fate::Renumbered => client.put(body),
            Fate::Ok(ok) => self.put_ok(&ok, |ok| client.put_ok(ok)),
            Fate::End(ok) => {
                self.put_held(client);
                self.put_ok(&ok, |ok| client.put_end(ok));
            }
            Fate::Row => {
                if let Some(unveiling) = &mut self.unveiling {
                    let mut row = BytesMut::new();
                    if unveiling.row(body, &mut row)? {
                        client.put(&row);
                    }
                }
            }
            Fate::Column if self.unveiling.is_some() => {
                if let (Some(unveiling), Some(names)) = (&mut self.unveiling, self.patch.names) {
                    let mut column = BytesMut::new();
                    unveiling.column(names, body, &mut column)?;
                    if !self.bare {
                        client.put(&column);
                    }
                }
            }
            Fate::Error(error) => client.put_error(&error),
            Fate::Column => {
                let names = self.patch.names;
                let logical = |schema: &[u8]| names.and_then(|n| n.logical(schema));
                let mut renamed = Ok(());
                client.put_with(|out| renamed = rename_schema(body, logical, out));
                renamed?;
            }
        }
        Ok(())
    }
}
