//! Parts of the page: how each is measured, and how its results are read.

use bench::chart::Chart;
use serde_json::Value;

/// Amount of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Smoke,
    Quick,
    Full,
}

impl Size {
    pub fn name(self) -> &'static str {
        match self {
            Size::Smoke => "smoke",
            Size::Quick => "quick",
            Size::Full => "full",
        }
    }

    /// The option of the command line that asks for it.
    pub fn option(self) -> &'static str {
        match self {
            Size::Smoke => " --smoke",
            Size::Quick => " --quick",
            Size::Full => "",
        }
    }

    /// The first word for the smallest size, and so on.
    pub fn of<T: Copy>(self, [smoke, quick, full]: [T; 3]) -> T {
        match self {
            Size::Smoke => smoke,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}

/// A line of research with the paper that it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Research {
    Asynchronous,
    Control,
    Hazards,
    Models,
    State,
}

impl Research {
    pub const ALL: [Research; 5] =
        [Research::Asynchronous, Research::Control, Research::Hazards, Research::Models, Research::State];

    /// The first word of the names of its parts.
    pub fn name(self) -> &'static str {
        match self {
            Research::Asynchronous => "async",
            Research::Control => "control",
            Research::Hazards => "hazards",
            Research::Models => "models",
            Research::State => "state",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Research::Asynchronous => "Asynchronous externs",
            Research::Control => "The control plane at scale",
            Research::Hazards => "Stateful actions of many cycles",
            Research::Models => "Models that predict",
            Research::State => "State in tables",
        }
    }

    pub fn paper(self) -> &'static str {
        match self {
            Research::Asynchronous => {
                "Laki et al., “The Price for Asynchronous Execution of Extern Functions in Programmable Software Data Planes”"
            }
            Research::Control => "Chabbi, Kozlyuk, Lo, “Evolving P4Runtime from Switch to DPU”",
            Research::Hazards => {
                "Cascone, Bifulco, Pontarelli et al., “Relaxing constraints in stateful network data plane design”, its \
                 NSDI poster and program (opp-sim), and the work on flow queues that followed"
            }
            Research::Models => {
                "Scholz, Stubbe, Gallenmüller, Carle, “Key Properties of Programmable Data Plane Targets”"
            }
            Research::State => {
                "Simon, Stubbe, Gallenmüller, Carle: updatable table entries and add-on-miss insertions; PNA specification"
            }
        }
    }

    pub fn question(self) -> &'static str {
        match self {
            Research::Asynchronous => {
                "When does a packet gain from suspending it while another core runs a slow function for it?"
            }
            Research::Control => {
                "How many table entries a second can controllers write, through messages, columns and shared memory?"
            }
            Research::Hazards => {
                "How long may an action on state be before packets meet within it, and what do locks cost then?"
            }
            Research::Models => "Can the cycles and the memory of a program be predicted before it runs?",
            Research::State => {
                "What does it cost when packets themselves add entries to a table, and change them?"
            }
        }
    }
}

/// Conditions without which a part cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A C compiler.
    Cc,
    /// Two cores: a worker and what works for it.
    TwoCores,
    /// A file that another part leaves in the state directory.
    File(&'static str, &'static str),
}

/// Files of the state directory that parts write or read, in command lines.
pub const STATE: &str = "{state}";

/// Command lines of a part, without `siding`, each with a label for the reader.
pub type Commands = Vec<(String, Vec<String>)>;

/// One figure, table or experiment.
pub struct Part {
    pub name: &'static str,
    pub research: Research,
    pub title: &'static str,
    /// The paper or data that has it; empty for parts that are ours only.
    pub source: &'static str,
    /// The published result, in our words.
    pub published: &'static str,
    pub commands: fn(Size) -> Commands,
    /// Seconds on two cores of a server, for each size.
    pub estimate_s: [f64; 3],
    pub needs: &'static [Need],
    /// Files that its commands read: name and text.
    pub files: &'static [(&'static str, &'static str)],
    pub read: fn(&Results<'_>) -> Shown,
}

/// Words of a command line.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A part with one command.
pub fn one(line: &str) -> Commands {
    vec![(String::new(), words(line))]
}

/// Output of the commands of a part, and that of other parts.
pub struct Results<'r> {
    /// Label and JSON of each command.
    pub own: Vec<(&'r str, &'r Value)>,
    pub others: &'r dyn Fn(&str) -> Vec<(&'r str, &'r Value)>,
}

impl<'r> Results<'r> {
    /// The JSON of the first command.
    pub fn first(&self) -> &'r Value {
        self.own.first().map_or(&Value::Null, |(_, value)| value)
    }

    /// The JSON of the first command of another part; null if it has no result.
    pub fn other(&self, part: &str) -> &'r Value {
        (self.others)(part).first().map_or(&Value::Null, |(_, value)| value)
    }

    pub fn labelled(&self, label: &str) -> &'r Value {
        self.own.iter().find(|(own, _)| *own == label).map_or(&Value::Null, |(_, value)| value)
    }
}

/// Results as a reader sees them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub figures: Vec<Figure>,
    pub readings: Vec<Reading>,
}

#[derive(Clone, Debug)]
pub enum Figure {
    Chart(Chart),
    Bars(Bars),
}

/// Numbers beside each other.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    pub title: String,
    pub unit: String,
    /// Name, number, and whether it was published by others.
    pub bars: Vec<(String, f64, bool)>,
}

/// A published shape beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub aspect: String,
    pub published: String,
    pub here: String,
    pub agreement: Agreement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Order, crossing or knee are as published.
    Same,
    /// Ours goes beyond what was published, in the direction that was wanted.
    Beyond,
    Differs,
    /// Nothing was published, or too little was measured.
    Open,
}

impl Agreement {
    pub const ALL: [Agreement; 4] = [Agreement::Same, Agreement::Beyond, Agreement::Differs, Agreement::Open];

    pub fn words(self) -> &'static str {
        match self {
            Agreement::Same => "as published",
            Agreement::Beyond => "beyond it",
            Agreement::Differs => "differs",
            Agreement::Open => "not judged",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Agreement::Same => "same",
            Agreement::Beyond => "beyond",
            Agreement::Differs => "differs",
            Agreement::Open => "open",
        }
    }

    pub fn same_if(is_same: bool) -> Agreement {
        if is_same { Agreement::Same } else { Agreement::Differs }
    }
}

impl Shown {
    pub fn chart(&mut self, chart: Chart) {
        if chart.series.iter().any(|series| !series.points.is_empty()) {
            self.figures.push(Figure::Chart(chart));
        }
    }

    pub fn bars(&mut self, title: &str, unit: &str, bars: Vec<(String, f64, bool)>) {
        if !bars.is_empty() {
            self.figures.push(Figure::Bars(Bars { title: title.to_owned(), unit: unit.to_owned(), bars }));
        }
    }

    pub fn reading(
        &mut self,
        aspect: impl Into<String>,
        published: impl Into<String>,
        here: impl Into<String>,
        agreement: Agreement,
    ) {
        let (aspect, published, here) = (aspect.into(), published.into(), here.into());
        self.readings.push(Reading { aspect, published, here, agreement });
    }
}
