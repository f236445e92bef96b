//! The entities that a read request asks for, in steps.

use crate::device::Device;
use crate::steps::{N_OF_STEP, Steps};
use control::Fault;
use p4info::proto::p4::v1 as pb;
use p4runtime::{Answer, Found};
use tonic::Status;

/// The answers to one request. The switch keeps what they need until this is dropped.
pub(crate) struct Answers<'r, 's, D: Device> {
    steps: &'r mut Steps<'s, D>,
    answers: Vec<Answer>,
}

impl<'r, 's, D: Device> Answers<'r, 's, D> {
    /// Begins to answer a request, all of its entities at one moment.
    pub(crate) fn begin(
        steps: &'r mut Steps<'s, D>,
        request: &pb::ReadRequest,
    ) -> Result<Answers<'r, 's, D>, Status> {
        let answers = steps.step(|target| Answer::begin(target.schema, target, request))?;
        Ok(Answers { steps, answers })
    }

    /// The next part; `None` at the end.
    pub(crate) fn step(&mut self) -> Option<Found> {
        self.answers.iter_mut().find_map(|answer| answer.next(self.steps, N_OF_STEP))
    }

    /// The outcome of each read.
    pub(crate) fn results(&self) -> Vec<Result<(), Fault>> {
        self.answers.iter().map(Answer::result).collect()
    }
}

impl<D: Device> Drop for Answers<'_, '_, D> {
    fn drop(&mut self) {
        for answer in &mut self.answers {
            answer.end(self.steps);
        }
    }
}
