//! Why a request was not done.

use control::Fault;
use dataplane::{SwitchError, TraceError};
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, SourceMap};
use serde::{Deserialize, Serialize};

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request makes no sense.
    Usage,
    /// It makes sense, but the switch cannot do it now.
    Refused,
    /// The program has errors.
    Program,
    /// Something outside is missing or forbidden.
    Environment,
    /// It took too long.
    Timeout,
}

impl Refusal {
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Usage, message)
    }

    /// The errors among `diagnostics`, rendered without colors.
    pub fn diagnosed<'d>(
        kind: RefusalKind,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
        sources: &SourceMap,
    ) -> Refusal {
        let errors = diagnostics.into_iter().filter(|d| d.is_error());
        let rendered: Vec<String> = errors.map(|d| render::human(d, sources, Style::default())).collect();
        Refusal::new(kind, rendered.join("\n"))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::new(RefusalKind::Refused, fault.to_string())
    }
}

impl From<SwitchError> for Refusal {
    fn from(error: SwitchError) -> Refusal {
        let kind = match &error {
            SwitchError::Port(_) => RefusalKind::Environment,
            SwitchError::Stuck(_) => RefusalKind::Timeout,
            _ => RefusalKind::Refused,
        };
        Refusal::new(kind, error.to_string())
    }
}

impl From<TraceError> for Refusal {
    fn from(error: TraceError) -> Refusal {
        match error {
            TraceError::Switch(error) => error.into(),
            TraceError::Filter(message) => Refusal::usage(message),
            TraceError::Load(error) => Refusal::new(RefusalKind::Refused, error.to_string()),
        }
    }
}
