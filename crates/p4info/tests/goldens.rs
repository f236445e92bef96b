//! With `P4C` naming a checkout of p4lang/p4c, its expected outputs are a test.

use std::path::Path;

use p4info::goldens;

#[test]
fn goldens_of_p4c() {
    let Some(p4c) = std::env::var_os("P4C") else {
        eprintln!("skipped: P4C is not set");
        return;
    };
    let report = goldens::check(&Path::new(&p4c).join("testdata")).unwrap();
    println!(
        "{} P4Info files, {} entries files, {} objects, {} ids by annotation",
        report.n_p4info_files,
        report.n_entries_files,
        report.n_objects,
        report.ids_given.len()
    );
    assert!(report.n_p4info_files > 600);
    assert!(report.n_entries_files > 600);
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}
