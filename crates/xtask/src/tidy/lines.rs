//! The lines of the reference of P4Runtime, each with a test over a socket.

use super::Problem;
use crate::File;
use crate::house::House;
use std::collections::BTreeMap;

/// Rows of its tables begin with the number of a line, such as `| A1 |`.
pub const PAGE: &str = "docs/reference/p4runtime.md";
/// Tests here begin with the numbers of their lines, such as `a01_` or `d04_e03_`.
const TESTS: &str = "crates/grpc/tests/p4runtime/";

/// A number of a line: its section, and the number in it.
type Number = (char, u32);

fn number(text: &str) -> Option<Number> {
    let mut rest = text.chars();
    let section = rest.next().filter(char::is_ascii_alphabetic)?.to_ascii_uppercase();
    let digits = rest.as_str();
    let is_number = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((section, digits.parse().ok().filter(|_| is_number)?))
}

/// A test function.
struct Test<'t> {
    line: usize,
    name: &'t str,
    is_ignored: bool,
}

fn tests(file: &File) -> Vec<Test<'_>> {
    let (mut found, mut is_test, mut is_ignored) = (Vec::new(), false, false);
    for (i, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        if line == "#[test]" {
            (is_test, is_ignored) = (true, false);
        } else if line.starts_with("#[ignore") {
            is_ignored = true;
        } else if let Some(name) = line.strip_prefix("fn ").filter(|_| is_test) {
            let name = name.split('(').next().unwrap_or_default();
            found.push(Test { line: i + 1, name, is_ignored });
            is_test = false;
        }
    }
    found
}

pub(super) fn lines_have_tests(house: &House, problems: &mut Vec<Problem>) {
    let files: Vec<&File> = house.rust().filter(|file| file.path.starts_with(TESTS)).collect();
    let Some(page) = house.get(PAGE) else {
        if let Some(file) = files.first() {
            problems.push(Problem::new(
                file,
                0,
                format!("there is no list of the lines that are tested: {PAGE}"),
            ));
        }
        return;
    };
    let mut lines: BTreeMap<Number, (usize, bool)> = BTreeMap::new();
    for (i, row) in page.text.lines().enumerate() {
        let cell = row.strip_prefix('|').and_then(|row| row.split('|').next());
        let Some(of) = cell.and_then(|cell| number(cell.trim())) else { continue };
        if lines.insert(of, (i + 1, false)).is_some() {
            problems.push(Problem::new(page, i + 1, format!("line {}{} is there twice", of.0, of.1)));
        }
    }
    for file in files {
        for test in tests(file) {
            for of in test.name.split('_').map_while(number) {
                match lines.get_mut(&of) {
                    Some((_, has_test)) => *has_test |= !test.is_ignored,
                    None => {
                        let message =
                            format!("`{}` is about {}{}, which {PAGE} does not have", test.name, of.0, of.1);
                        problems.push(Problem::new(file, test.line, message));
                    }
                }
            }
        }
    }
    for ((section, number), (line, has_test)) in lines {
        if !has_test {
            let begin = format!("{}{number:02}_", section.to_ascii_lowercase());
            let message = format!("no test that runs in {TESTS} begins with `{begin}`");
            problems.push(Problem::new(page, line, message));
        }
    }
}
