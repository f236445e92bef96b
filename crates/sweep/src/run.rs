//! Points in threads.

use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Takes the results of points from the threads that make them.
pub struct Sink<'a, E> {
    sender: mpsc::Sender<Result<(usize, Value), E>>,
    is_over: &'a AtomicBool,
}

impl<E> Sink<'_, E> {
    pub fn done(&self, place: usize, result: Value) {
        // The receiver is gone if another thread failed first.
        let _ = self.sender.send(Ok((place, result)));
    }

    /// True when another thread has failed, so that nobody waits for results.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Makes the points at `places`. Each call of `work` gets up to `group_max` of them, which it may make together, and gives
/// their results to the sink. `each` gets the results one after the other, in the calling thread. Returns the first error of
/// either.
pub fn run<E: Send>(
    places: &[usize],
    n_threads: usize,
    group_max: usize,
    work: impl Fn(&[usize], &Sink<'_, E>) -> Result<(), E> + Sync,
    mut each: impl FnMut(usize, Value) -> Result<(), E>,
) -> Result<(), E> {
    let n_threads = n_threads.clamp(1, places.len().max(1));
    // So that every thread has something to do.
    let group_points = places.len().div_ceil(n_threads).clamp(1, group_max.max(1));
    let groups: Vec<&[usize]> = places.chunks(group_points).collect();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            let sink = Sink { sender: sender.clone(), is_over: &is_over };
            let (groups, next, work) = (&groups, &next, &work);
            scope.spawn(move || {
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sink.is_over() {
                        break;
                    }
                    if let Err(error) = work(group, &sink) {
                        // The receiver is gone if another thread failed first.
                        let _ = sink.sender.send(Err(error));
                        break;
                    }
                }
            });
        }
        drop(sender);
        for message in receiver {
            if let Err(error) = message.and_then(|(place, result)| each(place, result)) {
                is_over.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_point_is_made_once() {
        for (n_threads, group_max) in [(1, 1), (3, 4), (8, 100), (0, 0)] {
            let places: Vec<usize> = (0..50).filter(|place| place % 3 != 0).collect();
            let mut made = Vec::new();
            let work = |group: &[usize], sink: &Sink<'_, ()>| {
                assert!(group.len() <= group_max.max(1));
                group.iter().for_each(|place| sink.done(*place, json!(place * 2)));
                Ok(())
            };
            let each = |place, result| {
                assert_eq!(result, json!(place * 2));
                made.push(place);
                Ok(())
            };
            run(&places, n_threads, group_max, work, each).unwrap();
            made.sort_unstable();
            assert_eq!(made, places);
        }
        run(&[], 4, 4, |_, _: &Sink<'_, ()>| Err(()), |_, _| Err(())).unwrap();
    }

    #[test]
    fn errors_of_both_sides_end_a_run() {
        let places: Vec<usize> = (0..100).collect();
        let work = |group: &[usize], sink: &Sink<'_, String>| {
            if group.contains(&40) {
                return Err("work".to_string());
            }
            group.iter().for_each(|place| sink.done(*place, json!(1)));
            Ok(())
        };
        let made = run(&places, 2, 1, work, |_, _| Ok(()));
        assert_eq!(made, Err("work".to_string()));
        let made =
            run(&places, 2, 1, work, |place, _| if place == 20 { Err("each".to_string()) } else { Ok(()) });
        assert_eq!(made, Err("each".to_string()));
    }
}
