//! Elections: how this client becomes the primary controller.

use super::Connected;
use crate::output::{self, Exit};
use control::Code;
use grpc::{Failure, Next, Stream};
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToServer;
use pb::stream_message_response::Update as FromServer;
use std::time::{Duration, Instant};

/// Time for the server to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The stream of this client, as long as it is needed.
pub struct Session<'c> {
    pub stream: Stream<'c>,
    /// The election id with which it writes; some servers give the primary none.
    pub election_id: Option<pb::Uint128>,
    pub is_primary: bool,
    /// This client or another controller is primary.
    pub is_led: bool,
    /// The highest id that any controller has bidden.
    pub highest: u128,
}

pub fn number(of: pb::Uint128) -> u128 {
    u128::from(of.high) << 64 | u128::from(of.low)
}

fn halves(number: u128) -> pb::Uint128 {
    pb::Uint128 { high: (number >> 64) as u64, low: number as u64 }
}

impl Connected<'_> {
    fn bid(&self, election_id: Option<u128>) -> ToServer {
        let role = (!self.args.role.is_empty())
            .then(|| pb::Role { name: self.args.role.clone(), ..pb::Role::default() });
        ToServer::Arbitration(pb::MasterArbitrationUpdate {
            device_id: self.args.device_id,
            role,
            election_id: election_id.map(halves),
            ..pb::MasterArbitrationUpdate::default()
        })
    }

    /// Takes part in the election: with the id of the command line, else with the highest of before if nobody is primary.
    pub fn elect(&self) -> Result<Session<'_>, Exit> {
        let elected = || -> Result<Session<'_>, Failure> {
            let stream = self.client.stream(self.bid(self.args.election_id))?;
            let election_id = self.args.election_id.map(halves);
            let mut session = Session { stream, election_id, is_primary: false, is_led: false, highest: 0 };
            let status = session.notice()?;
            if self.args.election_id.is_none() && status == Code::NotFound {
                let id = session.highest.max(1);
                session.election_id = Some(halves(id));
                session.stream.send(self.bid(Some(id)));
                session.notice()?;
            }
            Ok(session)
        };
        elected().map_err(|failure| self.failed(&failure))
    }

    /// Like [`elect`](Self::elect), where only the primary can do what is asked for.
    pub fn primary(&self) -> Result<Session<'_>, Exit> {
        let session = self.elect()?;
        if session.is_primary {
            return Ok(session);
        }
        let highest = session.highest;
        let next = highest.saturating_add(1);
        output::error_line(&match session.is_led {
            true => format!(
                "another controller is primary, with election id {highest}; --election-id {next} takes its place"
            ),
            false => format!(
                "nobody is primary, and election id {highest} has won before: --election-id {highest} or a higher one is needed"
            ),
        });
        Err(Exit::Failed)
    }

    /// Waits until the server has dealt with all messages that were sent.
    pub fn settle(&self, session: &mut Session<'_>) -> Result<Vec<FromServer>, Exit> {
        let election_id = session.election_id.map(number);
        session.stream.send(self.bid(election_id));
        let mut before = Vec::new();
        let waited = session.wait(|message| match message {
            FromServer::Arbitration(_) => Some(()),
            other => {
                before.push(other.clone());
                None
            }
        });
        waited.map_err(|failure| self.failed(&failure))?;
        Ok(before)
    }
}

impl Session<'_> {
    /// Waits for the state of the election.
    fn notice(&mut self) -> Result<Code, Failure> {
        let notice = self.wait(|message| match message {
            FromServer::Arbitration(notice) => Some(notice.clone()),
            FromServer::Packet(_)
            | FromServer::Digest(_)
            | FromServer::IdleTimeoutNotification(_)
            | FromServer::Other(_)
            | FromServer::Error(_) => None,
        })?;
        Ok(self.take_notice(&notice))
    }

    /// Takes note of the state of the election.
    pub fn take_notice(&mut self, notice: &pb::MasterArbitrationUpdate) -> Code {
        let status = Code::of_number(notice.status.as_ref().map_or(0, |status| status.code));
        self.is_primary = status == Code::Ok;
        self.is_led = status != Code::NotFound;
        self.highest = notice.election_id.map_or(0, number);
        status
    }

    fn wait<T>(&mut self, mut wanted: impl FnMut(&FromServer) -> Option<T>) -> Result<T, Failure> {
        let failure = |code, message: &str| Failure { code, message: message.to_owned(), parts: Vec::new() };
        let end = Instant::now() + ANSWER_TIME;
        loop {
            match self.stream.next(end.saturating_duration_since(Instant::now()))? {
                Next::Message(message) => {
                    if let Some(found) = wanted(&message) {
                        return Ok(found);
                    }
                }
                Next::Nothing if Instant::now() < end => {}
                Next::Nothing => {
                    return Err(failure(Code::DeadlineExceeded, "the server does not answer on the stream"));
                }
                Next::End => return Err(failure(Code::Unavailable, "the server has ended the stream")),
            }
        }
    }
}
