//! Transcripts of a backend's observable behaviour, and the first difference between two of them.

use super::{Compiled, Event, Sent, Subject, SubjectKind, Totals};
use crate::oracle;
use control::{Code, Data, DigestId, EntryQuery, Extras, Query};
use std::panic::AssertUnwindSafe;
use target::traffic::{self, Output};
use testkit::{Arriving, Dut};
use trace::Silent;

/// The observable effects of one event.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observed {
    pub sent: Vec<Sent>,
    pub digests: Vec<(DigestId, Data)>,
    /// The error code of a refused write.
    pub fault: Option<Code>,
    /// Totals after the event.
    pub totals: Totals,
    /// The last packet of its burst has its digests and its totals.
    pub is_within_burst: bool,
}

/// All observations of a backend.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    pub subject: &'static str,
    /// One for each event; fewer when the backend panicked.
    pub observed: Vec<Observed>,
    /// Entities at the end of the run, by kind and in any order.
    pub state: Vec<(&'static str, Vec<String>)>,
    /// Place and message of the backend's panic.
    pub panic: Option<(String, String)>,
}

impl Transcript {
    pub fn has_spent_budget(&self) -> bool {
        self.observed.last().is_some_and(|last| last.totals.contains_key("dropped step_budget"))
    }

    /// The most packets sent because of one event.
    pub fn n_sent_max(&self) -> usize {
        self.observed.iter().map(|o| o.sent.len()).max().unwrap_or(0)
    }
}

/// The first difference between two transcripts.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The kind of difference; findings with equal keys count as one.
    pub key: String,
    /// The event; `None` if only the state at the end differs.
    pub event_idx: Option<usize>,
    pub details: String,
    /// The transcript of the first backend.
    pub expected: Transcript,
}

/// Runs the events on a new subject. `Err` when it cannot run the program.
pub fn record(compiled: &Compiled, events: &[Event], kind: SubjectKind) -> Result<Transcript, String> {
    let mut transcript = Transcript { subject: kind.name, ..Transcript::default() };
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut subject = (kind.make)(compiled)?;
        let mut left = events;
        while !left.is_empty() {
            let observed = observe(&mut subject, left);
            left = &left[observed.len()..];
            transcript.observed.extend(observed);
        }
        transcript.state = state(&mut *subject.dut);
        Ok::<(), String>(())
    }));
    match result {
        Ok(result) => result?,
        Err(payload) => {
            let noted = oracle::take_panic();
            let text = payload.downcast_ref::<String>().cloned();
            let (place, message) = noted.unwrap_or_default();
            transcript.panic = Some((place, text.unwrap_or(message)));
        }
    }
    Ok(transcript)
}

/// Runs the first event, or the burst that begins with it. Returns one observation for each of its events.
fn observe(Subject { dut, burst_max }: &mut Subject, events: &[Event]) -> Vec<Observed> {
    let mut observed = match &events[0] {
        Event::Write(update) => {
            let fault = dut.target().write(update).err().map(|fault| fault.code());
            vec![Observed { fault, ..Observed::default() }]
        }
        Event::Packet { .. } => {
            let packets = events.iter().map_while(|event| match event {
                Event::Packet { port, bytes } => Some(Arriving { port: *port, bytes }),
                Event::Write(_) | Event::EndOfBurst | Event::Clock { .. } | Event::PortSide { .. } => None,
            });
            let burst: Vec<Arriving<'_>> = packets.take(*burst_max).collect();
            let outputs = dut.receive(&burst, &mut Silent);
            assert_eq!(outputs.len(), burst.len(), "a backend forgets packets of a burst");
            let within =
                |outputs| Observed { sent: sent(outputs), is_within_burst: true, ..Observed::default() };
            outputs.into_iter().map(within).collect()
        }
        Event::EndOfBurst => vec![Observed::default()],
        Event::Clock { ns } => {
            let sent = sent(dut.advance_clock(*ns, &mut Silent));
            vec![Observed { sent, ..Observed::default() }]
        }
        Event::PortSide { port, is_host } => {
            dut.set_host_port(*port, *is_host);
            vec![Observed::default()]
        }
    };
    if let Some(last) = observed.last_mut() {
        last.digests = dut.take_digests();
        last.totals = totals(&dut.totals());
        last.is_within_burst = false;
    }
    observed
}

fn sent(outputs: Vec<Output>) -> Vec<Sent> {
    outputs.into_iter().map(|output| Sent { port: output.port(), bytes: output.bytes }).collect()
}

fn totals(totals: &traffic::Totals) -> Totals {
    let mut out = Totals::from([
        ("received".to_string(), totals.n_received),
        ("copied".to_string(), totals.n_copied),
        ("sent".to_string(), totals.n_sent),
        ("to controller".to_string(), totals.n_to_controller),
    ]);
    out.extend(totals.n_ignored.iter().map(|(what, n)| (format!("ignored {what}"), *n)));
    out.extend(totals.n_dropped.iter().map(|(reason, n)| (format!("dropped {reason}"), *n)));
    out
}

/// The queries that read the state of a switch.
fn queries() -> Vec<(&'static str, Query)> {
    let extras =
        Extras { meter_config: true, counter_data: true, meter_counter_data: true, ..Extras::default() };
    let entries = |is_default_action| {
        Query::TableEntries(EntryQuery { is_default_action, extras, ..EntryQuery::default() })
    };
    vec![
        ("entries", entries(false)),
        ("default entries", entries(true)),
        ("members", Query::Members { profile: None, member: None }),
        ("groups", Query::Groups { profile: None, group: None }),
        ("meters", Query::Meters { meter: None, index: None, with_counter_data: true }),
        ("direct meters", Query::DirectMeters { entry: None, with_counter_data: true }),
        ("counters", Query::Counters { counter: None, index: None }),
        ("direct counters", Query::DirectCounters { entry: None }),
        ("registers", Query::Registers { register: None, index: None }),
        ("multicast groups", Query::MulticastGroups(None)),
        ("clone sessions", Query::CloneSessions(None)),
        ("value sets", Query::ValueSets(None)),
    ]
}

fn state(dut: &mut dyn Dut) -> Vec<(&'static str, Vec<String>)> {
    let target = dut.target();
    let answer = |query: &Query| match target.read(query) {
        Ok(entities) => {
            let mut shown: Vec<String> = entities.iter().map(|e| format!("{e:?}")).collect();
            shown.sort_unstable();
            shown
        }
        Err(fault) => vec![format!("fault {}", fault.code().name())],
    };
    queries().iter().map(|(what, query)| (*what, answer(query))).collect()
}

/// The first difference; `None` when there is none.
pub fn compare(first: &Transcript, second: &Transcript) -> Option<Difference> {
    let differs = |what: &str, event_idx: Option<usize>, a: String, b: String| {
        Some(Difference {
            key: format!("{} and {}: {what}", first.subject, second.subject),
            event_idx,
            details: format!("{}: {a}\n{}: {b}", first.subject, second.subject),
            expected: first.clone(),
        })
    };
    for transcript in [first, second] {
        if let Some((place, message)) = &transcript.panic {
            let what = format!("panic of {} at {place}", transcript.subject);
            let event_idx = Some(transcript.observed.len());
            return Some(Difference {
                key: what,
                event_idx,
                details: message.clone(),
                expected: first.clone(),
            });
        }
    }
    let mut digests: [Vec<_>; 2] = Default::default();
    for (i, (a, b)) in first.observed.iter().zip(&second.observed).enumerate() {
        if a.fault != b.fault {
            return differs("results of writes", Some(i), format!("{:?}", a.fault), format!("{:?}", b.fault));
        }
        if a.sent != b.sent {
            return differs("packets", Some(i), packets(&a.sent), packets(&b.sent));
        }
        for (all, some) in digests.iter_mut().zip([a, b]) {
            all.extend_from_slice(&some.digests);
        }
        if a.is_within_burst || b.is_within_burst {
            continue;
        }
        let [a_digests, b_digests] = std::mem::take(&mut digests);
        if a_digests != b_digests {
            return differs("digests", Some(i), format!("{a_digests:?}"), format!("{b_digests:?}"));
        }
        if a.totals != b.totals {
            return differs("totals", Some(i), format!("{:?}", a.totals), format!("{:?}", b.totals));
        }
    }
    for ((what, a), (_, b)) in first.state.iter().zip(&second.state) {
        if a != b {
            let only = |of: &[String], other: &[String]| {
                let only: Vec<&str> =
                    of.iter().filter(|x| !other.contains(x)).take(4).map(String::as_str).collect();
                format!("{} of them, among them alone:\n  {}", of.len(), only.join("\n  "))
            };
            return differs(what, None, only(a, b), only(b, a));
        }
    }
    None
}

fn packets(sent: &[Sent]) -> String {
    let one = |packet: &Sent| {
        let port = packet.port.map_or("controller".to_string(), |port| port.to_string());
        format!("\n  {port} {}", hex(&packet.bytes))
    };
    if sent.is_empty() { "nothing".to_string() } else { sent.iter().map(one).collect() }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
