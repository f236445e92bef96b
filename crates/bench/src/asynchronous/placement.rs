//! Cores for generators, workers and offload workers.

/// Workers that have a core each, beside a core for the generator of each and one for each offload worker. One worker is always
/// possible, since an offload worker can share a core.
pub(super) fn n_workers_max(n_cores: usize, n_offload_workers: usize) -> usize {
    (n_cores.saturating_sub(n_offload_workers) / 2).max(1)
}

/// The core of each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// Each is a sink, too.
    pub(super) generators: Vec<usize>,
    pub(super) workers: Vec<usize>,
    pub(super) offload_workers: Vec<usize>,
}

impl Placement {
    /// Gives each thread a core of its own. With too few of them offload workers share the core of the generator.
    pub(super) fn new(cores: &[usize], n_workers: usize, n_offload_workers: usize) -> Placement {
        let core = |i: usize| cores[i.min(cores.len() - 1)];
        let generators = (0..n_workers).map(core).collect();
        let workers = (n_workers..2 * n_workers).map(core).collect();
        let has_more = cores.len() >= 2 * n_workers + n_offload_workers;
        let offload_workers = (0..n_offload_workers)
            .map(|i| if has_more { core(2 * n_workers + i) } else { core(0) })
            .collect();
        Placement { generators, workers, offload_workers }
    }

    /// Returns true if an offload worker shares the core of a generator.
    pub(super) fn is_shared(&self) -> bool {
        self.offload_workers.iter().any(|core| self.generators.contains(core))
    }

    /// Says which thread runs where.
    pub(super) fn sentence(&self) -> String {
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let noun = |cores: &[usize], one: &str, several: &str| match cores.len() {
            1 => format!("{one} on core {}", list(cores)),
            _ => format!("{several} on cores {}", list(cores)),
        };
        format!(
            "Threads: {}, {}, {}{}.",
            noun(&self.generators, "generator and sink", "generators and sinks"),
            noun(&self.workers, "worker", "workers"),
            noun(&self.offload_workers, "offload worker", "offload workers"),
            match self.is_shared() {
                true => ", which it shares with the generator: rates of policies that use it are too low",
                false => "",
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_cores_of_their_own_where_there_are_enough() {
        assert_eq!([1, 2, 3, 4, 5, 7, 16].map(|n| n_workers_max(n, 1)), [1, 1, 1, 1, 2, 3, 7]);
        let placement = Placement::new(&[0, 2, 4, 6, 8, 10], 2, 2);
        let expected =
            Placement { generators: vec![0, 2], workers: vec![4, 6], offload_workers: vec![8, 10] };
        assert_eq!(placement, expected);
        assert!(placement.sentence().starts_with("Threads: generators and sinks on cores 0, 2, workers on"));
        assert!(placement.sentence().ends_with("workers on cores 4, 6, offload workers on cores 8, 10."));
    }

    #[test]
    fn an_offload_worker_shares_a_core_if_it_must() {
        let placement = Placement::new(&[0, 1], 1, 1);
        let expected = Placement { generators: vec![0], workers: vec![1], offload_workers: vec![0] };
        assert_eq!(placement, expected);
        assert!(placement.sentence().contains("which it shares"));
    }
}
