//! Several points files as one.

use crate::error::Error;
use crate::points::Points;

/// Puts the points of several files together, each with its name. The order of the files does not matter.
pub fn merge(files: Vec<(String, Points)>) -> Result<Points, Error> {
    let (first_name, first) = files.first().ok_or(Error::NoFiles)?;
    let mut merged = Points::new(first.header().clone());
    // The files that results are from.
    let mut origins: Vec<&str> = vec![first_name; first.header().points.len()];
    for (name, points) in &files {
        if let Some(difference) = first.header().difference(points.header()) {
            return Err(Error::Other {
                file: name.clone(),
                difference: format!("{difference}, as in {first_name}"),
            });
        }
        for (place, origin) in origins.iter_mut().enumerate() {
            let Some(result) = points.result(place) else { continue };
            if merged.result(place).is_none() {
                *origin = name;
            }
            if !merged.add(place, result.clone()) {
                let files = [origin.to_string(), name.clone()];
                return Err(Error::Contradiction { point: merged.header().points[place].clone(), files });
            }
        }
    }
    // Command lines for equal sweeps may differ; any choice will do that does not depend on the order of the files.
    let command = files.iter().map(|(_, points)| &points.header().command).min();
    merged.set_command(command.cloned().unwrap_or_default());
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Shard};
    use serde_json::json;

    const N_POINTS: usize = 7;

    fn header() -> Header {
        let points = (0..N_POINTS).map(|i| format!("p{i}")).collect();
        Header::new("test", 1, 1, json!({ "n": 1 }), points).unwrap()
    }

    fn file(name: &str, header: Header, shard: &str) -> (String, Points) {
        let shard: Shard = shard.parse().unwrap();
        let mut points = Points::new(header);
        for place in (0..N_POINTS).filter(|place| shard.contains(*place)) {
            let seed = points.header().seed_of(&format!("p{place}"));
            assert!(points.add(place, json!({ "seed": seed })));
        }
        (name.to_string(), points)
    }

    #[test]
    fn any_split_merges_to_equal_bytes() {
        let whole = file("whole", header(), "1/1").1.text();
        for n_shards in 1..=N_POINTS + 1 {
            let mut files: Vec<_> =
                (1..=n_shards).map(|i| file("f", header(), &format!("{i}/{n_shards}"))).collect();
            assert_eq!(merge(files.clone()).unwrap().text(), whole);
            // Points that are there twice are no contradiction.
            files.reverse();
            files.push(file("f", header(), "1/2"));
            assert_eq!(merge(files).unwrap().text(), whole);
        }
    }

    #[test]
    fn missing_points_are_known() {
        let merged = merge(vec![file("a", header(), "1/3"), file("b", header(), "3/3")]).unwrap();
        assert_eq!(merged.missing(), [1, 4]);
    }

    #[test]
    fn files_of_different_sweeps_are_refused() {
        let fault = |files| merge(files).unwrap_err().to_string();
        assert_eq!(fault(Vec::new()), "there are no files to merge");
        let other = Header { arguments: json!({ "n": 2 }), ..header() };
        assert_eq!(
            fault(vec![file("a", header(), "1/2"), file("b", other, "2/2")]),
            "b: its points are of another sweep: `n` is 2, expected 1, as in a"
        );
        let mut lies = Points::new(header());
        assert!(lies.add(2, json!({ "seed": 0 })));
        assert_eq!(
            fault(vec![file("a", header(), "2/2"), file("b", header(), "1/2"), ("c".to_string(), lies)]),
            "the point `p2` has one result in b and another in c"
        );
    }

    #[test]
    fn commands_do_not_depend_on_the_order_of_files() {
        let of = |word: &str| header().with_command(vec![word.to_string()]);
        let files = vec![file("a", of("x"), "1/2"), file("b", of("w"), "2/2")];
        let reversed = files.iter().rev().cloned().collect();
        assert_eq!(merge(files).unwrap().text(), merge(reversed).unwrap().text());
    }
}
