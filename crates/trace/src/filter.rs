//! Filters of packets: by arrival, by the fields of their headers, by what became of them.

use crate::story::{Story, Verdict, What};
use crate::variables::Variables;
use arch::ParamRole;
use core::net::{Ipv4Addr, Ipv6Addr};
use diagnostics::suggest::closest;

/// Conditions of which a packet must meet all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    arrival: Vec<Arrival>,
    /// Ends of names of header fields, and values.
    fields: Vec<(String, u128)>,
    outcomes: Vec<Outcome>,
}

/// A condition on a packet that is known before it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arrival {
    Port(u32),
    Bytes { from: usize, bytes: Vec<u8> },
}

/// A condition on the end of a packet or of one of its copies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Dropped, for this reason or for any.
    Dropped(Option<String>),
    /// Sent to this port or to any.
    Sent(Option<u32>),
    ToController,
}

impl Filter {
    /// Conditions joined by `&&`: `port==3`, `bytes[12..14]==0800`, `ipv4.dst==10.0.0.1`, `dropped`,
    /// `dropped==ingress_drop`, `sent`, `sent==2`, `controller`.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let mut filter = Filter::default();
        if text.contains("||") {
            return Err("conditions are joined by `&&` only: a packet must meet all".to_owned());
        }
        for part in text.split("&&").map(str::trim) {
            match part {
                "" if text.trim().is_empty() => {}
                "" => return Err("a condition is missing beside `&&`".to_owned()),
                "dropped" => filter.outcomes.push(Outcome::Dropped(None)),
                "sent" => filter.outcomes.push(Outcome::Sent(None)),
                "controller" => filter.outcomes.push(Outcome::ToController),
                _ => filter.add_comparison(part)?,
            }
        }
        Ok(filter)
    }

    /// `NAME==VALUE`.
    fn add_comparison(&mut self, part: &str) -> Result<(), String> {
        let (name, value) = part.split_once("==").ok_or_else(|| {
            format!("`{part}` has no `==`; write NAME==VALUE, or one of dropped, sent, controller")
        })?;
        let (name, value) = (name.trim(), value.trim());
        let port = || value.parse().map_err(|_| format!("`{value}` is no port number"));
        match name {
            "port" => self.arrival.push(Arrival::Port(port()?)),
            "sent" => self.outcomes.push(Outcome::Sent(Some(port()?))),
            "dropped" => self.outcomes.push(Outcome::Dropped(Some(value.to_owned()))),
            _ => {
                if let Some(range) = name.strip_prefix("bytes[").and_then(|rest| rest.strip_suffix(']')) {
                    self.arrival.push(bytes(range, value)?);
                    return Ok(());
                }
                let number = number(value).ok_or_else(|| {
                    format!("`{value}` is no number and no address (10.0.0.1, 02:00:00:00:00:01, 0x800)")
                })?;
                self.fields.push((name.to_owned(), number));
            }
        }
        Ok(())
    }

    /// Fails if the filter names a field that no header of the program has, or whose values are smaller.
    pub fn check(&self, variables: &Variables) -> Result<(), String> {
        if self.fields.is_empty() {
            return Ok(());
        }
        let slots = variables.shared(ParamRole::Headers).map(|range| range.first..range.first + range.len);
        let infos = slots.into_iter().flatten().filter_map(|slot| variables.slot_info(slot));
        let known: Vec<(String, Option<u32>)> = infos
            .filter(|info| info.field.is_some())
            .map(|info| (without_indexes(&info.name), info.field.and_then(|field| field.ty.width_bits())))
            .collect();
        for (name, value) in &self.fields {
            let plain = without_indexes(name);
            let Some((_, width)) = known.iter().find(|(full, _)| is_end_of(&plain, full)) else {
                let n_parts = plain.split('.').count();
                // Names without `hdr.` are compared with as many parts from the end.
                let ends = known.iter().map(|(full, _)| {
                    let from = full.rmatch_indices('.').nth(n_parts - 1).map_or(0, |(at, _)| at + 1);
                    &full[from..]
                });
                let header = plain.rsplit_once('.').map(|(header, _)| header);
                let of_header = known.iter().filter_map(|(full, _)| {
                    let (head, field) = full.rsplit_once('.')?;
                    header.filter(|header| is_end_of(header, head)).map(|_| field)
                });
                let of_header: Vec<&str> = of_header.collect();
                return Err(match (closest(&plain, ends), of_header.as_slice()) {
                    (Some(nearest), _) => {
                        format!("no header has a field `{name}`; did you mean `{nearest}`?")
                    }
                    (None, []) => format!("no header has a field `{name}`; write HEADER.FIELD==VALUE"),
                    (None, fields) => {
                        format!("no header has a field `{name}`; fields there: {}", fields.join(", "))
                    }
                });
            };
            if let Some(width) = width.filter(|width| *width < 128)
                && *value >> width != 0
            {
                return Err(format!("`{name}` has {width} bits, too few for {value:#x}"));
            }
        }
        Ok(())
    }

    /// The drop reasons that it names.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Dropped(reason) => reason.as_deref(),
            Outcome::Sent(_) | Outcome::ToController => None,
        })
    }

    /// True if a packet may be meant, before it is parsed.
    pub fn takes_arrival(&self, port: u32, packet: &[u8]) -> bool {
        self.arrival.iter().all(|wanted| match wanted {
            Arrival::Port(wanted) => *wanted == port,
            Arrival::Bytes { from, bytes } => packet.get(*from..).is_some_and(|rest| rest.starts_with(bytes)),
        })
    }

    /// True if a packet with this story is meant; for packets whose arrival [is taken](Filter::takes_arrival).
    pub fn takes_story(&self, story: &Story) -> bool {
        let extracted = |name: &str, value: u128| {
            story.steps.iter().any(|step| match &step.what {
                What::Extracted { header, fields, .. } => fields.iter().any(|field| {
                    is_end_of(name, &format!("{header}.{}", field.name)) && number(&field.hex) == Some(value)
                }),
                _ => false,
            })
        };
        let has = |wanted: &Outcome| {
            story.verdicts.iter().any(|verdict| match (wanted, verdict) {
                (Outcome::Dropped(wanted), Verdict::Dropped { reason, .. }) => {
                    wanted.as_ref().is_none_or(|wanted| wanted == reason)
                }
                (Outcome::Sent(wanted), Verdict::Sent { port, .. }) => {
                    wanted.is_none_or(|wanted| wanted == *port)
                }
                (Outcome::ToController, Verdict::ToController { .. }) => true,
                _ => false,
            })
        };
        self.fields.iter().all(|(name, value)| extracted(name, *value)) && self.outcomes.iter().all(has)
    }
}

/// `bytes[12..14]==0800`.
fn bytes(range: &str, value: &str) -> Result<Arrival, String> {
    let (from, to) = range.split_once("..").unwrap_or((range, ""));
    let from: usize = from.parse().map_err(|_| format!("`{range}` is no range of bytes; write 12..14"))?;
    if to.parse::<usize>().is_ok_and(|to| to <= from) {
        return Err(format!("the range {range} is empty; its second number is the end"));
    }
    let bytes = from_hex(value).ok_or_else(|| format!("`{value}` are no hexadecimal bytes"))?;
    let fits = to.is_empty() || to.parse().ok() == from.checked_add(bytes.len());
    if bytes.is_empty() || !fits {
        return Err(format!("`{value}` has another length than bytes[{range}]"));
    }
    Ok(Arrival::Bytes { from, bytes })
}

/// True if `name` is `full` or its last parts.
fn is_end_of(name: &str, full: &str) -> bool {
    full.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

/// The name without the indexes of header stacks.
fn without_indexes(name: &str) -> String {
    let mut depth = 0;
    name.chars()
        .filter(|c| {
            depth += i32::from(*c == '[');
            let is_outside = depth == 0;
            depth -= i32::from(*c == ']');
            is_outside
        })
        .collect()
}

/// Bytes from pairs of hexadecimal digits, with or without `0x`; blanks are ignored. `None` for anything else.
fn from_hex(text: &str) -> Option<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::VERSION;

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
            ("sent==x", "`x`"),
            ("drop", "dropped"),
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

    #[test]
    fn outcomes_are_conditions() {
        let dropped =
            Verdict::Dropped { reason: "ingress_drop".into(), because: None, decided_by: None, port: None };
        let sent = Verdict::Sent { port: 2, n_bytes: 0, hex: String::new() };
        let story = |verdicts: Vec<Verdict>| {
            let (summary, steps) = (String::new(), Vec::new());
            Story { version: VERSION, summary, steps, n_left_out: 0, verdicts }
        };
        let takes = |filter: &str, verdicts: &[Verdict]| {
            Filter::parse(filter).unwrap().takes_story(&story(verdicts.to_vec()))
        };
        let (dropped, sent) = (std::slice::from_ref(&dropped), std::slice::from_ref(&sent));
        assert!(takes("dropped", dropped) && takes("dropped==ingress_drop", dropped));
        assert!(!takes("dropped==egress_drop", dropped) && !takes("sent", dropped));
        assert!(takes("sent", sent) && takes("sent==2", sent) && !takes("sent==3", sent));
        assert!(!takes("controller", sent) && !takes("sent && dropped", sent));
        assert!(takes("sent && dropped", &[sent[0].clone(), dropped[0].clone()]));
    }

    #[test]
    fn indexes_are_no_part_of_names() {
        assert_eq!(without_indexes("hdr.vlan[1].vid"), "hdr.vlan.vid");
        assert!(is_end_of("vlan.vid", "hdr.vlan.vid") && !is_end_of("lan.vid", "hdr.vlan.vid"));
    }
}
