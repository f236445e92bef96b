//! A controller's session.

use crate::answers::{Message, Rings};
use crate::error::{Error, status_message};
use crate::hello;
use crate::options::Options;
use crate::segment::Segment;
use crate::table::{TableLayout, Tables};
use crate::wire::{Completion, N_REQUESTS, Request, Sizes, answer, kind};
use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The outcome of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A canonical code. 2, UNKNOWN: some entries have failed, as in P4Runtime.
    pub code: u32,
    /// Entries that were looked at; 0 if the request failed as a whole.
    pub n: u64,
    pub n_failed: u64,
    /// A code for each entry; empty if all are 0.
    pub codes: Vec<u8>,
    /// Why it has failed.
    pub message: String,
    /// An encoded `google.rpc.Status`; empty without details.
    pub status: Vec<u8>,
}

/// A connection to a switch. It is one controller of P4Runtime; its end is the controller's.
#[derive(Debug)]
pub struct Session {
    pub(crate) rings: Rings,
    pub(crate) timeout: Duration,
    next_number: u64,
    /// A bit for each slot that is in use.
    used: u64,
    /// Slots of requests that have no completion yet.
    pending: HashMap<u64, Slots>,
    outcomes: HashMap<u64, Outcome>,
    statuses: HashMap<u64, Vec<u8>>,
    /// Answers to reads and questions for layouts.
    answers: VecDeque<Message>,
    messages: VecDeque<Vec<u8>>,
}

impl Session {
    /// Connects to the socket of a switch.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Session, Error> {
        let connected = hello::connect(path.as_ref(), options)?;
        Ok(Session {
            rings: Rings::new(connected),
            timeout: options.timeout,
            next_number: 1,
            used: 0,
            pending: HashMap::new(),
            outcomes: HashMap::new(),
            statuses: HashMap::new(),
            answers: VecDeque::new(),
            messages: VecDeque::new(),
        })
    }

    /// True if this controller was the primary of its role when the session began.
    pub fn is_primary(&self) -> bool {
        self.rings.connected.arbitration == 0
    }

    pub fn sizes(&self) -> Sizes {
        self.rings.connected.sizes
    }

    /// Layouts of all tables whose entries can be records, with the parts that they have among `parts`.
    pub fn tables(&mut self, parts: u32) -> Result<Tables, Error> {
        self.layouts(0, parts)
    }

    fn layouts(&mut self, table: u32, parts: u32) -> Result<Tables, Error> {
        let number = self.submit(Request { kind: kind::LAYOUT, table, parts, ..Request::default() }, None)?;
        let outcome = self.wait(number)?;
        let at = self.answers.iter().position(|message| message.number == number);
        let message = at.and_then(|at| self.answers.remove(at));
        check(outcome)?;
        let decoded = message.and_then(|message| Tables::decode(&message.bytes));
        decoded.ok_or(Error::Protocol("it sends no layouts"))
    }

    /// Takes slots for so many bytes.
    pub(crate) fn take_slots(&mut self, n_bytes: usize, deadline: Instant) -> Result<Slots, Error> {
        let sizes = self.sizes();
        let n_slots = n_bytes.div_ceil(sizes.slot_bytes);
        if n_slots > sizes.n_slots {
            return Err(Error::TooLong(sizes.slots_bytes(), n_bytes));
        }
        loop {
            let mask = u64::MAX >> (64 - n_slots);
            let free = (0..=sizes.n_slots - n_slots).find(|slot| self.used & mask << slot == 0);
            if let Some(slot) = free {
                self.used |= mask << slot;
                return Ok(Slots { slot, n_slots });
            }
            if self.pump()? {
                continue;
            }
            if Instant::now() >= deadline {
                return Err(Error::NoSlot);
            }
            self.sleep_until(deadline)?;
        }
    }

    pub(crate) fn free_slots(&mut self, slots: Slots) {
        self.used &= !((u64::MAX >> (64 - slots.n_slots)) << slots.slot);
    }

    /// Publishes a request, and returns its number.
    pub(crate) fn submit(&mut self, request: Request, slots: Option<Slots>) -> Result<u64, Error> {
        let slots = slots.unwrap_or_default();
        self.publish(Request { slot: slots.slot as u32, ..request }, slots)
    }

    fn publish(&mut self, request: Request, slots: Slots) -> Result<u64, Error> {
        let deadline = Instant::now() + self.timeout;
        while self.rings.n_outstanding() >= N_REQUESTS {
            if !self.pump()? {
                if Instant::now() >= deadline {
                    return Err(Error::Timeout);
                }
                self.sleep_until(deadline)?;
            }
        }
        if self.rings.is_over {
            return Err(self.ended());
        }
        let number = self.next_number;
        self.next_number += 1;
        self.pending.insert(number, slots);
        self.rings.submit(Request { number, ..request });
        Ok(number)
    }

    fn submit_bytes(&mut self, kind: u32, message: &[u8]) -> Result<u64, Error> {
        let deadline = Instant::now() + self.timeout;
        let slots = self.take_slots(message.len().max(1), deadline)?;
        let at = self.sizes().slots_at() + slots.slot * self.sizes().slot_bytes;
        self.rings.connected.c.write(at, message);
        self.submit(Request { kind, n: message.len() as u64, ..Request::default() }, Some(slots))
    }

    /// Takes what the switch has sent. False if there was nothing.
    pub fn pump(&mut self) -> Result<bool, Error> {
        let mut has_news = false;
        // Answers come before the completions that belong to them.
        while let Some(completion) = self.rings.next_completion() {
            has_news = true;
            self.take_messages()?;
            self.complete(completion);
        }
        Ok(self.take_messages()? | has_news)
    }

    fn take_messages(&mut self) -> Result<bool, Error> {
        let mut has_news = false;
        while let Some(message) = self.rings.next_message()? {
            has_news = true;
            match message.kind {
                answer::STREAM => self.messages.push_back(message.bytes),
                answer::STATUS => {
                    self.statuses.insert(message.number, message.bytes);
                }
                _ => self.answers.push_back(message),
            }
        }
        Ok(has_news)
    }

    fn complete(&mut self, completion: Completion) {
        let Completion { number, code, has_status, n, n_failed } = completion;
        let Some(pending) = self.pending.remove(&number) else { return };
        let status = if has_status { self.statuses.remove(&number) } else { None }.unwrap_or_default();
        let mut outcome =
            Outcome { code, n, n_failed, codes: Vec::new(), message: status_message(&status), status };
        if n_failed > 0 {
            let sizes = self.sizes();
            outcome.codes = vec![0; (n as usize).min(pending.n_slots * sizes.codes_bytes())];
            let at = sizes.codes_at() + pending.slot * sizes.codes_bytes();
            self.rings.connected.s.read(at, &mut outcome.codes);
        }
        if pending.n_slots > 0 {
            self.free_slots(pending);
        }
        self.outcomes.insert(number, outcome);
    }

    fn sleep_until(&mut self, deadline: Instant) -> Result<(), Error> {
        if self.rings.is_over {
            return Err(self.ended());
        }
        self.rings.sleep(deadline.saturating_duration_since(Instant::now()))
    }

    fn ended(&mut self) -> Error {
        let status = self.statuses.get(&0).map(|status| status_message(status));
        Error::Ended(status.map(|text| format!(": {text}")).unwrap_or_default())
    }

    /// Waits for the outcome of a request. Each outcome is returned once.
    pub fn wait(&mut self, number: u64) -> Result<Outcome, Error> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(outcome) = self.outcomes.remove(&number) {
                return Ok(outcome);
            }
            if self.pump()? {
                continue;
            }
            if !self.pending.contains_key(&number) {
                return Err(Error::Invalid(format!("no request {number} is outstanding")));
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout);
            }
            self.sleep_until(deadline)?;
        }
    }

    /// Takes the outcome of any request that has been answered.
    pub fn poll(&mut self) -> Result<Option<(u64, Outcome)>, Error> {
        self.pump()?;
        let number = self.outcomes.keys().min().copied();
        Ok(number.and_then(|number| self.outcomes.remove_entry(&number)))
    }

    /// Requests that were not answered.
    pub fn n_outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Carries out an encoded `p4.v1.WriteRequest`. Details of a failure are in [`Error::Refused`].
    pub fn write(&mut self, request: &[u8]) -> Result<(), Error> {
        let number = self.submit_bytes(kind::WRITE, request)?;
        let outcome = self.wait(number)?;
        check(outcome)
    }

    /// Carries out an encoded `p4.v1.ReadRequest`: `take` gets encoded `ReadResponse`s.
    pub fn read(&mut self, request: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        let number = self.submit_bytes(kind::READ, request)?;
        let mut deadline = Instant::now() + self.timeout;
        loop {
            self.pump()?;
            while let Some(at) = self.answers.iter().position(|message| message.number == number) {
                if let Some(message) = self.answers.remove(at) {
                    take(&message.bytes);
                }
                deadline = Instant::now() + self.timeout;
            }
            if let Some(outcome) = self.outcomes.remove(&number) {
                return check(outcome);
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout);
            }
            self.sleep_until(deadline)?;
        }
    }

    /// Sends an encoded `p4.v1.StreamMessageRequest`.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let number = self.submit_bytes(kind::STREAM, message)?;
        let outcome = self.wait(number)?;
        check(outcome)
    }

    /// The next encoded `p4.v1.StreamMessageResponse`; `None` if the time is over.
    pub fn next_message(&mut self, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            self.pump()?;
            if let Some(message) = self.messages.pop_front() {
                return Ok(Some(message));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            self.sleep_until(deadline)?;
        }
    }

    /// Announces that so many more entries are about to be inserted.
    pub fn reserve(&mut self, program: u64, table: &TableLayout, n_more: u64) -> Result<(), Error> {
        let request =
            Request { kind: kind::RESERVE, program, table: table.id, n: n_more, ..Request::default() };
        let number = self.submit(request, None)?;
        let outcome = self.wait(number)?;
        check(outcome)
    }

    /// Submits a request as it is, except for its number: for tests of the switch.
    pub fn submit_raw(&mut self, request: Request) -> Result<u64, Error> {
        self.publish(request, Slots::default())
    }

    /// S and C: for tests of the switch.
    pub fn memory(&self) -> (&Segment, &Segment) {
        (&self.rings.connected.s, &self.rings.connected.c)
    }

    /// Prepares for `poll` of the [descriptor](AsFd): false if something has come already, which [`pump`](Self::pump) takes.
    pub fn arm(&mut self) -> bool {
        self.rings.drain();
        self.rings.arm() && !self.rings.is_over
    }
}

/// Readable when something has come, after [`Session::arm`].
impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rings.connected.socket.as_fd()
    }
}

/// Neighbouring slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) slot: usize,
    pub(crate) n_slots: usize,
}

fn check(outcome: Outcome) -> Result<(), Error> {
    let Outcome { code, message, status, .. } = outcome;
    match code {
        0 => Ok(()),
        code => Err(Error::Refused { code, message, details: status }),
    }
}
