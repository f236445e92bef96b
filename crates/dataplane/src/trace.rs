//! Stories of packets that arrive: copies of them go through an interpreter beside the workers.
//!
//! The interpreter begins with all that the control plane can read: entries, groups, registers, counters. What packets
//! change from then on it changes for the copies only, so a program that counts or learns may tell a story that
//! differs in such details from what the original went through.

use crate::migration::copy_entities;
use crate::switch::{Switch, SwitchError, lock};
use interp::{InterpretedDevice, LoadError};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use target::PortState;
use trace::{Story, StoryBuilder, What};

/// Copies that wait for the interpreter; those that find no room have no story.
const N_COPIES_MAX: usize = 1024;
/// How often somebody asks whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// Which packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    arrival: Vec<Arrival>,
    /// Ends of names of header fields, and values.
    fields: Vec<(String, u128)>,
}

/// A condition on a packet that is known before it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arrival {
    Port(u32),
    Bytes { from: usize, bytes: Vec<u8> },
}

impl Filter {
    /// `port==3`, `bytes[12..14]==0800`, `ipv4.dst==10.0.0.1`, joined by `&&`.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let mut filter = Filter::default();
        for part in text.split("&&").map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once("==").ok_or_else(|| format!("`{part}` has no `==`; write NAME==VALUE"))?;
            let (name, value) = (name.trim(), value.trim());
            if name == "port" {
                let port = value.parse().map_err(|_| format!("`{value}` is no port number"))?;
                filter.arrival.push(Arrival::Port(port));
            } else if let Some(range) = name.strip_prefix("bytes[").and_then(|rest| rest.strip_suffix(']')) {
                let (from, to) = range.split_once("..").unwrap_or((range, ""));
                let from: usize =
                    from.parse().map_err(|_| format!("`{range}` is no range of bytes; write 12..14"))?;
                let bytes = from_hex(value).ok_or_else(|| format!("`{value}` are no hexadecimal bytes"))?;
                let fits = to.is_empty() || to.parse().ok() == from.checked_add(bytes.len());
                if bytes.is_empty() || !fits {
                    return Err(format!("`{value}` has another length than bytes[{range}]"));
                }
                filter.arrival.push(Arrival::Bytes { from, bytes });
            } else {
                let number = number(value).ok_or_else(|| {
                    format!("`{value}` is no number and no address (10.0.0.1, 02:00:00:00:00:01, 0x800)")
                })?;
                filter.fields.push((name.to_owned(), number));
            }
        }
        Ok(filter)
    }

    fn takes_arrival(&self, port: u32, packet: &[u8]) -> bool {
        self.arrival.iter().all(|wanted| match wanted {
            Arrival::Port(wanted) => *wanted == port,
            Arrival::Bytes { from, bytes } => packet.get(*from..).is_some_and(|rest| rest.starts_with(bytes)),
        })
    }

    fn takes_story(&self, story: &Story) -> bool {
        let is_meant = |full: &str, name: &str| {
            full.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with('.'))
        };
        let extracted = |name: &str, value: u128| {
            story.steps.iter().any(|step| match &step.what {
                What::Extracted { header, fields, .. } => fields.iter().any(|field| {
                    is_meant(&format!("{header}.{}", field.name), name) && number(&field.hex) == Some(value)
                }),
                _ => false,
            })
        };
        self.fields.iter().all(|(name, value)| extracted(name, *value))
    }
}

/// Bytes from pairs of hexadecimal digits, with or without `0x`; blanks are ignored. `None` for anything else.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| Some(c.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn number(text: &str) -> Option<u128> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u128::from_str_radix(digits, 16).ok();
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Some(address.to_bits().into());
    }
    let bytes: Vec<&str> = text.split(':').collect();
    if bytes.len() == 6 && bytes.iter().all(|byte| byte.len() == 2) {
        return u128::from_str_radix(&bytes.concat(), 16).ok();
    }
    text.parse().ok().or_else(|| text.parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits))
}

/// Limits of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    pub n_stories_max: u64,
    /// Length of all stories as JSON. The story that exceeds it is the last.
    pub n_bytes_max: usize,
    pub timeout: Duration,
}

/// Result of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    pub stories: Vec<Story>,
    /// The stories had too many bytes for more of them.
    pub is_cut: bool,
    /// Packets that the interpreter was too slow for.
    pub n_missed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(transparent)]
    Switch(#[from] SwitchError),
    #[error("the program cannot be interpreted: {0}")]
    Load(#[from] LoadError),
}

impl Switch {
    /// The stories of the next packets that are meant, until a limit is reached or `stop` says so.
    pub fn trace(
        &self,
        limits: TraceLimits,
        filter: &Filter,
        stop: &dyn Fn() -> bool,
    ) -> Result<Traced, TraceError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let id = SERIAL.fetch_add(1, Ordering::Relaxed);
        let (mut interpreter, sources) = self.interpreter()?;
        let (sender, copies) = sync_channel(N_COPIES_MAX);
        let n_missed = Arc::new(AtomicU64::new(0));
        let (wanted, missed) = (filter.clone(), Arc::clone(&n_missed));
        self.shared.on_all(move |worker| {
            let (wanted, missed, sender) = (wanted.clone(), Arc::clone(&missed), sender.clone());
            let tap = move |port: u32, packet: &[u8]| {
                let is_full = wanted.takes_arrival(port, packet)
                    && matches!(sender.try_send((port, packet.to_vec())), Err(TrySendError::Full(_)));
                if is_full {
                    missed.fetch_add(1, Ordering::Relaxed);
                }
            };
            worker.add_mirror(id, Box::new(tap));
        })?;
        let begin = Instant::now();
        let mut traced = Traced::default();
        let mut n_bytes = 0;
        while (traced.stories.len() as u64) < limits.n_stories_max
            && !traced.is_cut
            && begin.elapsed() < limits.timeout
            && !stop()
        {
            let (port, packet): (u32, Vec<u8>) = match copies.recv_timeout(LOOK) {
                Ok(copy) => copy,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let passed_ns = self.now_ns().saturating_sub(interpreter.switch.now_ns());
            interpreter.switch.advance_clock(passed_ns, &mut interp::Silent);
            let mut story_builder = StoryBuilder::new(sources.as_deref());
            interpreter.switch.inject(port, &packet, &mut story_builder);
            let story = story_builder.finish();
            if filter.takes_story(&story) {
                n_bytes += serde_json::to_vec(&story).map_or(0, |json| json.len());
                traced.is_cut = n_bytes >= limits.n_bytes_max;
                traced.stories.push(story);
            }
        }
        self.shared.on_all(move |worker| worker.remove_mirror(id))?;
        traced.n_missed = n_missed.load(Ordering::Relaxed);
        Ok(traced)
    }

    /// The program that runs, with what it has now.
    fn interpreter(&self) -> Result<(InterpretedDevice, Option<Arc<diagnostics::SourceMap>>), TraceError> {
        let mut plane = lock(&self.shared.plane);
        let ports_down = plane.ports_down.clone();
        let generation = plane.generation.as_mut().ok_or(SwitchError::NoProgram)?;
        let compiled = generation.compiled.clone();
        let config = generation.config.clone();
        let mut interpreter =
            interp::interpreter(Arc::clone(&compiled.program), Arc::clone(&compiled.schema), config)?;
        copy_entities(generation, &compiled.schema, &mut interpreter, self.now_ns());
        for port in ports_down {
            interpreter.switch.set_port(port, PortState::Down);
        }
        Ok((interpreter, compiled.sources))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_say_what_is_wrong_with_them() {
        let filter = Filter::parse("port==3 && bytes[12..14]==0800 && ipv4.dst == 10.0.0.1").unwrap();
        assert_eq!(filter.fields, [("ipv4.dst".to_owned(), 0x0a00_0001)]);
        let mut packet = vec![0; 20];
        assert!(!filter.takes_arrival(3, &packet));
        packet[12] = 8;
        assert!(filter.takes_arrival(3, &packet));
        assert!(!filter.takes_arrival(4, &packet));
        assert!(!filter.takes_arrival(3, &packet[..13]));
        assert_eq!(Filter::parse("  "), Ok(Filter::default()));
        for (wrong, why) in [
            ("port=3", "=="),
            ("port==x", "`x`"),
            ("bytes[12..13]==0800", "length"),
            ("bytes[x]==08", "`x`"),
            ("bytes[1]==zz", "`zz`"),
            ("ipv4.dst==here", "`here`"),
        ] {
            let error = Filter::parse(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
        assert_eq!(number("02:00:00:00:00:01"), Some(0x0200_0000_0001));
        assert_eq!(number("::1"), Some(1));
        assert_eq!(number("0x10"), Some(16));
    }
}
