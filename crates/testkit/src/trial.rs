//! A script that is run on several switches under test.

use crate::transcript::Recorded;
use crate::{Dut, Step, Stories};
use control::Schema;
use diagnostics::SourceMap;
use std::sync::Arc;
use trace::Story;

/// A script that was resolved for a program.
#[derive(Clone)]
pub struct Trial<'a> {
    pub script: &'a stf::Script,
    pub plan: &'a stf::Plan,
    /// The text of the script.
    pub sources: &'a SourceMap,
    pub schema: Arc<Schema>,
}

/// The result of a script on one switch.
#[derive(Debug)]
pub struct Run {
    pub report: stf::Report,
    pub steps: Vec<Step>,
}

impl Trial<'_> {
    /// Runs the script on a fresh switch, with at most `n_max` packets at once.
    pub fn run(&self, dut: &mut dyn Dut, n_max: usize) -> Run {
        let mut recorded = Recorded::new(dut);
        let Trial { script, plan, sources, schema } = self;
        let report = stf::run_in_bursts(script, plan, sources, schema, &mut recorded, &|_, _| None, n_max);
        Run { report, steps: recorded.steps }
    }

    /// Runs the script packet by packet, with the stories of the first `n_stories_max`. `program` is the text of the
    /// program.
    pub fn run_with_stories(
        &self,
        dut: &mut dyn Dut,
        program: &SourceMap,
        n_stories_max: usize,
    ) -> (Run, Vec<Story>) {
        let mut stories = Stories::new(dut, program, n_stories_max);
        let run = self.run(&mut stories, 1);
        (run, stories.finish())
    }
}
