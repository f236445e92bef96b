//! The check that the P4Info of a controller is that of a program.

use crate::device::ConfigFault;
use p4info::P4Info;

/// Differences that a message names.
const N_NAMED: usize = 10;

/// Fails unless a P4Info is that of the program, or a part of it. Ids may differ, and so may what is for people only. How
/// meters mark packets is the controller's choice, because programs do not state it.
pub fn check_p4info(own: &P4Info, given: &P4Info) -> Result<(), ConfigFault> {
    let counts = |difference: &&p4info::Difference| {
        let last = difference.path.rsplit('.').next().unwrap_or_default();
        let is_for_people = ["doc", "pkg_info", "annotation", "structured_annotation", "_locations"]
            .iter()
            .any(|what| difference.path.contains(what));
        // Objects that the controller leaves out cannot be addressed.
        let is_left_out = difference.right == p4info::ABSENT && !difference.path.contains("].");
        let is_id = matches!(last, "id" | "alias") || last.ends_with("_id") || last.contains("_ids");
        // No program can say it, and a controller may hold itself to it.
        let is_restriction = last == "weights_disallowed" && difference.left == "false";
        let is_of_meter = ["meters[", "direct_meters["].iter().any(|list| difference.path.starts_with(list));
        let is_meter_type = is_of_meter && difference.path.ends_with(".spec.type");
        !is_for_people && !is_left_out && !is_id && !is_restriction && !is_meter_type
    };
    let differences = p4info::compare(own, given);
    let all: Vec<&p4info::Difference> = differences.iter().filter(counts).collect();
    if all.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = all
        .iter()
        .take(N_NAMED)
        .map(|difference| {
            format!(
                "{}: the program has {}, the P4Info {}",
                difference.path, difference.left, difference.right
            )
        })
        .collect();
    Err(ConfigFault::invalid(format!("the P4Info is not that of the program: {}", named.join("; "))))
}
